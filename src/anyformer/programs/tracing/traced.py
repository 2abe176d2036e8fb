"""The data of a tracing array: an object for every entry along the ordinary axes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.tracing.axes import Axis, Kind, shape_of
from anyformer.programs.tracing.pairs import pair_forms, sums
from anyformer.programs.tracing.pairs.multilinear import Multilinear
from anyformer.programs.tracing.pairs.pair_forms import PairForm
from anyformer.programs.tracing.runs import Run

Entry: TypeAlias = Form | PairForm


Entries: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Traced:
    """Entries over the sized axes: forms, or pair forms if there are several token axes. Never changed.

    Of a condition, every entry is a form, and it holds where the form is positive. It may have been converted to 0.0
    and 1.0 (`is_converted`), but is still only known as a condition.
    """

    run: Run
    axes: tuple[Axis, ...]
    entries: Entries
    is_condition: bool = False
    is_converted: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all axes, as functions see them."""
        return shape_of(self.axes)

    @property
    def rank(self) -> int:
        """The number of token axes."""
        return sum(axis.kind is Kind.TOKENS for axis in self.axes)

    @property
    def builder(self) -> Builder:
        """The program in the making."""
        return self.run.builder

    def slot(self, axis: int) -> int:
        """The slot of a token axis: how many token axes come before it."""
        return sum(one.kind is Kind.TOKENS for one in self.axes[:axis])

    def place(self, axis: int) -> int:
        """The axis of `entries` that belongs to an axis: how many sized axes come before it."""
        return sum(one.kind is Kind.SIZED for one in self.axes[:axis])

    def mapped(self, step: Callable[[Any], Any]) -> "Traced":
        """The same axes with other entries."""
        return replace(self, entries=each(step, self.entries))

    def with_entries(self, axes: Sequence[Axis], entries: Entries) -> "Traced":
        """Other axes and entries of the same run."""
        return replace(self, axes=tuple(axes), entries=entries)

    def forms(self, name: str) -> "Traced":
        """All entries as forms of one token. Raises for what is over pairs of tokens."""
        if self.rank > 1:
            raise over_pairs(name)
        return self.mapped(lambda entry: as_single(self.builder, entry))


def over_pairs(name: str) -> NotTraceable:
    """The error for a step that cannot be done with arrays over pairs of tokens."""
    return NotTraceable(
        f"{name} of an array over pairs of tokens cannot be traced. Of such arrays sums, products, means over tokens"
        " and softmax weights can: np.exp(s) divided by its sum over the keys, then contracted with values."
    )


def each(step: Callable[..., Any], *arrays: Entries) -> Entries:
    """A step on all entries, with broadcasting."""
    return boxed(np.frompyfunc(step, len(arrays), 1)(*arrays))


def boxed(value: Any) -> Entries:
    """The value as an array of objects, also if it is a single one."""
    if isinstance(value, np.ndarray):
        return value
    array = np.empty((), dtype=object)
    array[()] = value
    return array


def as_single(builder: Builder, entry: Entry) -> Form:
    """An entry of an array with at most one token axis as a form."""
    return entry if isinstance(entry, Form) else sums.form_of(builder, entry, 0)


def as_pair(entry: Entry, slot: int) -> PairForm:
    """An entry as a pair form."""
    return entry if isinstance(entry, PairForm) else PairForm(Multilinear.of(entry, slot))


def settled(builder: Builder, entry: Entry, rank: int) -> Entry:
    """A pair form over one token as a form, if nothing is left that has to cancel first."""
    if isinstance(entry, PairForm) and rank <= 1 and pair_forms.is_plain(entry):
        return sums.form_of(builder, entry, 0)
    return entry
