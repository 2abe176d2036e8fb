"""Products as differences of squares: a·b = ¼v² − ¼w² with v = λa + b/λ, w = λa − b/λ, λ a power of two."""

import math
from dataclasses import dataclass

from anyformer.programs.curves import Curve
from anyformer.programs.forms import Form, Node
from anyformer.programs.numbers import Number
from anyformer.programs.ranges import Range, Ranges


@dataclass(frozen=True, eq=False)
class Squares:
    """The two sums and their ranges."""

    stretch: float
    sums: tuple[Form, Form]
    ranges: tuple[Range, Range]

    @classmethod
    def of(cls, node: Node, ranges: Ranges) -> "Squares":
        """With the λ that makes both ranges short."""
        a, b = node.args
        (al, ah), (bl, bh) = ranges.form(a), ranges.form(b)
        middle = round(math.log2(max(bh - bl, 1e-300) / max(ah - al, 1e-300)) / 2)
        return min((cls._with(node, ranges, 2.0**k) for k in (middle - 1, middle, middle + 1)), key=lambda s: s.effort)

    @classmethod
    def _with(cls, node: Node, ranges: Ranges, stretch: float) -> "Squares":
        a, b = node.args
        sums = a.scaled(stretch) + b.scaled(1 / stretch), a.scaled(stretch) - b.scaled(1 / stretch)
        return cls(stretch, sums, (ranges.form(sums[0]), ranges.form(sums[1])))

    @property
    def effort(self) -> float:
        """Units ≈ effort/√ε: each square within ε/2 by pieces of length 4√ε."""
        return sum(high - low for low, high in self.ranges) / 4

    def curves(self) -> tuple[Curve, Curve]:
        """¼v² and −¼w² on their ranges."""
        plus, minus = Number(0.25), Number(-0.25)
        return (
            Curve(lambda u: u.apply("square").times(plus), *self.ranges[0]),
            Curve(lambda u: u.apply("square").times(minus), *self.ranges[1]),
        )
