"""What is asked for: a function on sequences, its domain, symmetry and modulus of continuity."""

from anyformer.targets.attention_layer import attention
from anyformer.targets.catalogue import CATALOGUE, descriptions, is_ready_made, ready_made
from anyformer.targets.checks.battery import check_target
from anyformer.targets.checks.enclosures import check_enclosures
from anyformer.targets.domains import Box, CompactSupport, Domain, domain_from_json
from anyformer.targets.equivariant import bump, centre, centroid_distance, mean_scale, power_sums, softmax
from anyformer.targets.load import load_function
from anyformer.targets.moduli import (
    EntrywiseLipschitz,
    Lipschitz,
    Modulus,
    Tightest,
    modulus_from_json,
    same_coordinate,
)
from anyformer.targets.positional import copy_first, cumulative_mean, moving_average, reverse, running_maximum, sort
from anyformer.targets.target import UNIT_CUBE, Symmetry, Target, target

__all__ = [
    "CATALOGUE",
    "UNIT_CUBE",
    "Box",
    "CompactSupport",
    "Domain",
    "EntrywiseLipschitz",
    "Lipschitz",
    "Modulus",
    "Symmetry",
    "Target",
    "Tightest",
    "attention",
    "bump",
    "centre",
    "centroid_distance",
    "check_enclosures",
    "check_target",
    "copy_first",
    "cumulative_mean",
    "descriptions",
    "domain_from_json",
    "is_ready_made",
    "load_function",
    "mean_scale",
    "modulus_from_json",
    "moving_average",
    "power_sums",
    "ready_made",
    "reverse",
    "running_maximum",
    "same_coordinate",
    "softmax",
    "sort",
    "target",
]
