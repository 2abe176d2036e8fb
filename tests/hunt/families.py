"""Every family of the hunt by its name."""

from tests.hunt import attention, certificates, extreme_weights, far_outside, small_networks, spikes, subnormals
from tests.hunt.certificate_files import files
from tests.hunt.greedy import greedy
from tests.hunt.grids import grids
from tests.hunt.models import models
from tests.hunt.mutated import mutated
from tests.hunt.one_at_a_time import one_at_a_time
from tests.hunt.parallel_units import parallel_units
from tests.hunt.powers import powers
from tests.hunt.programs import programs
from tests.hunt.random_functions import random_functions
from tests.hunt.rulings import Family
from tests.hunt.running import running
from tests.hunt.walls import walls

FAMILIES = {
    "sleeping-beside-extreme": Family(extreme_weights.sleeping_beside_extreme),
    "any-magnitude": Family(extreme_weights.any_magnitude),
    "parallel-units": Family(parallel_units),
    "last-stage": Family(far_outside.last_stage),
    "compact-support": Family(far_outside.compact_support),
    "powers": Family(powers),
    "one-at-a-time": Family(one_at_a_time),
    "programs": Family(programs),
    "random-programs": Family(random_functions),
    "overflow": Family(small_networks.overflowing_networks),
    "silent-heads": Family(attention.silent_heads),
    "running": Family(running),
    "subnormals": Family(small_networks.subnormal_networks),
    "tiny-scales": Family(subnormals.tiny_scales),
    "halved-ties": Family(subnormals.halved_ties),
    "plain-means": Family(attention.plain_means),
    "near-ties": Family(attention.near_ties),
    "ordinary-networks": Family(small_networks.ordinary_networks),
    "any-networks": Family(small_networks.any_networks),
    "spikes": Family(spikes.spikes),
    "hairs": Family(spikes.hairs),
    "grids": Family(grids),
    "walls": Family(walls, prepare=models),
    "altered-certificates": Family(certificates.altered, prepare=models),
    "certificate-files": Family(files, prepare=models),
    "mutated-models": Family(mutated, prepare=models),
    # What nobody can check is to be turned down cheaply; without a limit it would take all memory and never end.
    "greedy": Family(greedy, megabytes=400),
}
