"""The methods by their names on the command line. A new one is a file in this folder and a line here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from anyformer.construction.methods.averaging import Averaging
from anyformer.construction.methods.compile import Compile
from anyformer.construction.methods.interpolation import Interpolation
from anyformer.construction.methods.selective_shift import SelectiveShift
from anyformer.construction.methods.sparse_averaging import SparseAveraging
from anyformer.construction.methods.sparse_selective_shift import SparseSelectiveShift
from anyformer.construction.plans.plan import Method

METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        method.name: method
        for method in (
            Compile(),
            Interpolation(),
            Averaging(),
            SelectiveShift(),
            SparseAveraging(),
            SparseSelectiveShift(),
        )
    }
)

__all__ = [
    "METHODS",
    "Averaging",
    "Compile",
    "Interpolation",
    "Method",
    "SelectiveShift",
    "SparseAveraging",
    "SparseSelectiveShift",
]
