"""The damages find faults of the checker: each one planted here makes some bound too small."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from anyformer.certificates.programs import bound, errors, heads, polylines, stream, units
from anyformer.certificates.programs.errors import Error
from tests.certificates.programs.damages import Outcome, case, damage, judged

Fault = Callable[[pytest.MonkeyPatch], None]


def _no_apart(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stream.Stream, "apart", lambda *args, **kwargs: 0.0)


def _no_passing_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(errors.Errors, "passed_on", lambda self, node, own: own)


def _no_own_error(patch: pytest.MonkeyPatch) -> None:
    keep = errors.Errors.record
    patch.setattr(errors.Errors, "record", lambda self, node, own: keep(self, node, Error(0.0, 0.0)))


def _no_arch(patch: pytest.MonkeyPatch) -> None:
    """Between knots, curve and polyline are compared at the knots alone."""

    def gaps(curve: Any, knots: Any, values: Any) -> Any:
        ends = curve.at(knots, knots).value
        apart = ends.low - values
        return np.minimum(apart[:-1], apart[1:]), np.maximum(apart[:-1], apart[1:])

    patch.setattr(polylines, "gaps", gaps)


def _no_claims_needed(patch: pytest.MonkeyPatch) -> None:
    """Weights that belong to no claim are let pass."""
    keep = bound.must
    patch.setattr(bound, "must", lambda holds, what: keep(holds or "is claimed" in what, what))


def _no_gap_of_mixings(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(heads.RULES, heads.Mix, lambda *args: 0.0)


def _no_scores(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(heads.RULES, heads.Attend, lambda *args: 0.0)


def _any_maximum(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(heads.RULES, heads.TokenMaximum, lambda *args: 0.0)


def _any_mean(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(heads.RULES, heads.Mean, lambda *args: 0.0)


def _any_circle(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(units, "off_circle", lambda *args: 0.0)


def _no_extra(patch: pytest.MonkeyPatch) -> None:
    """Units that look beside the direction they should look along."""
    keep = units.Along.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        keep(self, *args, **kwargs)
        self.extra = 0.0

    patch.setattr(units.Along, "__init__", init)


def _no_read_out(patch: pytest.MonkeyPatch) -> None:
    def read_out(self: Any, network: Any) -> float:
        return max(self.stream.errors.form(form).absolute for form in self.stream.program.outputs)

    patch.setattr(bound._Walk, "read_out", read_out)


def _no_shift(patch: pytest.MonkeyPatch) -> None:
    keep = units.units_error
    patch.setattr(bound, "units_error", lambda s, u, n, h: keep(s, replace(u, shift=0.0), n, h))


FAULTS: dict[str, tuple[Fault, str]] = {
    "apart is 0": (_no_apart, "mean-scale"),
    "errors of arguments are not passed on": (_no_passing_on, "softmax"),
    "steps have no error of their own": (_no_own_error, "mean-scale"),
    "polylines are compared at knots alone": (_no_arch, "elu"),
    "weights without a claim": (_no_claims_needed, "running-maximum"),
    "mixings have any shares": (_no_gap_of_mixings, "cumulative-mean"),
    "attention has any scores": (_no_scores, "attention"),
    "a maximum has any scores": (_any_maximum, "heights"),
    "a mean has any scores": (_any_mean, "norms"),
    "norms have any directions": (_any_circle, "norms"),
    "units look anywhere": (_no_extra, "kinks"),
    "the read-out is not looked at": (_no_read_out, "attention"),
    "b_2 is not looked at": (_no_shift, "kinks"),
}


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The checker with a fault."""
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        yield


SLOW = {"weights without a claim", "a mean has any scores"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in FAULTS])
def test_a_planted_fault_is_found_by_damages(name: str) -> None:
    fault, where = FAULTS[name]
    one, rng = case(where), np.random.default_rng(7)
    with planted(fault):
        found = any(judged(one, damage(one, rng))[0] in (Outcome.UNSOUND, Outcome.CRASH) for _ in range(300))
    assert found
