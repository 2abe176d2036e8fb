"""Which tokens may look at which: a catalogue of patterns, combinators, and the universality checker.

>>> import anyformer.patterns as patterns
>>> patterns.check_universality(patterns.named("strided"), tokens=16).verdict.name
'PAPER_B'
"""

from anyformer.errors import PatternError
from anyformer.patterns.answers import Answer, Reach, Relay, SelfLoops, TokenPath
from anyformer.patterns.arrange import Arrangement, intersection, multihead, sequential, union
from anyformer.patterns.arrays import from_arrays, to_arrays, to_csr, to_dense, to_edges
from anyformer.patterns.battery import check_pattern
from anyformer.patterns.catalogue import CATALOGUE, descriptions, named, parse
from anyformer.patterns.combinators import Causal, Intersection, Multihead, Sequential, Union, causal
from anyformer.patterns.cubes import Butterfly, Hypercube
from anyformer.patterns.custom import from_edges, from_mask_mod, from_matrix, from_networkx
from anyformer.patterns.description import from_json, in_short, to_json
from anyformer.patterns.drawing import draw
from anyformer.patterns.factorised import Axial, Fixed, Strided
from anyformer.patterns.family import PatternFamily
from anyformer.patterns.flex import block_mask, mask_mod
from anyformer.patterns.growth import Growth
from anyformer.patterns.hops import first_hops, reached
from anyformer.patterns.neighbours import Neighbours, from_pairs
from anyformer.patterns.pattern import SparsityPattern, single
from anyformer.patterns.random_keys import Random
from anyformer.patterns.relays import BigBird, Longformer, PlainStar, Star
from anyformer.patterns.repair import Repair
from anyformer.patterns.report import Universality, UniversalityReport
from anyformer.patterns.universality import check_universality
from anyformer.patterns.windows import BlockLocal, DilatedWindow, Full, Ring, SlidingWindow

__all__ = [
    "CATALOGUE",
    "Answer",
    "Arrangement",
    "Axial",
    "BigBird",
    "BlockLocal",
    "Butterfly",
    "Causal",
    "DilatedWindow",
    "Fixed",
    "Full",
    "Growth",
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
    "TokenPath",
    "Union",
    "Universality",
    "UniversalityReport",
    "block_mask",
    "causal",
    "check_pattern",
    "check_universality",
    "descriptions",
    "draw",
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
    "sequential",
    "single",
    "to_arrays",
    "to_csr",
    "to_dense",
    "to_edges",
    "to_json",
    "union",
]
