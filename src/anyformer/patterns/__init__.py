"""Which tokens may attend to which: a catalogue of patterns, combinators, and the universality checker.

>>> import anyformer.patterns as patterns
>>> patterns.check_universality(patterns.named("strided"), tokens=16).verdict.name
'PAPER_B'
"""

from anyformer.errors import PatternError
from anyformer.patterns.arrangement import Arrangement, intersection, multihead, sequential, union
from anyformer.patterns.battery import check_pattern
from anyformer.patterns.bottlenecks.capacity import Capacity, capacity
from anyformer.patterns.bottlenecks.halves import Half
from anyformer.patterns.catalogue import CATALOGUE, COMBINATORS, combinators, descriptions, named
from anyformer.patterns.designing.designer import Design, DesignOption, design
from anyformer.patterns.designing.picture import draw_design
from anyformer.patterns.drawing import draw
from anyformer.patterns.exchange.adjacency import from_edges, from_mask_mod, from_matrix, from_networkx
from anyformer.patterns.exchange.arrays import from_arrays, to_arrays, to_csr, to_dense, to_edges
from anyformer.patterns.exchange.block_shares import MOST_BLOCK_SHARE, block_share, require_sparse_blocks
from anyformer.patterns.exchange.flex_attention import block_mask, mask_mod
from anyformer.patterns.exchange.json_form import from_json, to_json
from anyformer.patterns.exchange.notation import in_short, parse, read_pattern
from anyformer.patterns.families.blocks import Blocked, blocked
from anyformer.patterns.families.combinators import Causal, Intersection, Multihead, Sequential, Union, causal
from anyformer.patterns.families.factorised import Axial, Fixed, Strided
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.families.global_tokens import BigBird, Longformer, PlainStar, Star
from anyformer.patterns.families.hypercubes import Butterfly, Hypercube
from anyformer.patterns.families.random_keys import Random
from anyformer.patterns.families.windows import BlockLocal, DilatedWindow, Full, Ring, SlidingWindow
from anyformer.patterns.neighbours import Neighbours, from_pairs
from anyformer.patterns.pattern import SparsityPattern, single
from anyformer.patterns.tiling.compiler import tiling_of
from anyformer.patterns.tiling.parts import Tiling
from anyformer.patterns.universality.checker import check_universality
from anyformer.patterns.universality.conditions import Answer, Reach, Relay, SelfLoops, TokenPath
from anyformer.patterns.universality.growth import Growth
from anyformer.patterns.universality.hops import first_hops, reached
from anyformer.patterns.universality.repair import Repair
from anyformer.patterns.universality.report import Universality, UniversalityReport

__all__ = [
    "CATALOGUE",
    "COMBINATORS",
    "MOST_BLOCK_SHARE",
    "Answer",
    "Arrangement",
    "Axial",
    "BigBird",
    "BlockLocal",
    "Blocked",
    "Butterfly",
    "Capacity",
    "Causal",
    "Design",
    "DesignOption",
    "DilatedWindow",
    "Fixed",
    "Full",
    "Growth",
    "Half",
    "Hypercube",
    "Intersection",
    "Longformer",
    "Multihead",
    "Neighbours",
    "PatternError",
    "PatternFamily",
    "PlainStar",
    "Random",
    "Reach",
    "Relay",
    "Repair",
    "Ring",
    "SelfLoops",
    "Sequential",
    "SlidingWindow",
    "SparsityPattern",
    "Star",
    "Strided",
    "Tiling",
    "TokenPath",
    "Union",
    "Universality",
    "UniversalityReport",
    "block_mask",
    "block_share",
    "blocked",
    "capacity",
    "causal",
    "check_pattern",
    "check_universality",
    "combinators",
    "descriptions",
    "design",
    "draw",
    "draw_design",
    "first_hops",
    "from_arrays",
    "from_edges",
    "from_json",
    "from_mask_mod",
    "from_matrix",
    "from_networkx",
    "from_pairs",
    "in_short",
    "intersection",
    "mask_mod",
    "multihead",
    "named",
    "parse",
    "reached",
    "read_pattern",
    "require_sparse_blocks",
    "sequential",
    "single",
    "tiling_of",
    "to_arrays",
    "to_csr",
    "to_dense",
    "to_edges",
    "to_json",
    "union",
]
