"""Random NumPy programs of rational steps, views and writes: each is traced with its own values, or refused as such.

Steps are those that test the interval arrays. A program that is traced wrongly would be caught by `check_program` and
refused, too; so here the two kinds of refusal are told apart. Rational steps alone are taken, because others leave
their domain or overflow, and there NumPy's values are not those of the formula.
"""

import numpy as np
import pytest

from anyformer.errors import NotTraceable
from anyformer.programs.builder import Builder
from anyformer.programs.tracing import arrays, check_program, traced_program
from anyformer.targets import Box, target
from anyformer.targets.target import Symmetry
from tests.intervals.random_programs import TOKENS, WIDTH, generate

SEEDS = range(1, 1200, 4)  # every fourth program is rational


class OneByOne:
    """A program without a batch takes (1, tokens, width)."""

    def __init__(self, program):
        self.program = program

    def __call__(self, x):
        return self.program(x[np.newaxis])[0]


def outcome(seed):
    program = generate(seed)
    assert program.is_rational
    function = program if program.batch else OneByOne(program)
    chosen = target(
        function,
        tokens=TOKENS,
        width=WIDTH,
        symmetry=Symmetry.NONE,
        vectorised=program.batch is not None,
        name=f"program {seed}",
        domain=Box(low=0.1, high=1.0),
    )
    try:
        traced = traced_program(chosen)
    except NotTraceable:
        return "refused"
    try:
        check_program(traced, chosen)
    except NotTraceable:
        return "wrong"
    return "right"


def test_no_program_is_traced_wrongly():
    outcomes = {seed: outcome(seed) for seed in SEEDS}
    assert [seed for seed in SEEDS if outcomes[seed] == "wrong"] == []
    assert sum(one == "right" for one in outcomes.values()) > 0.2 * len(SEEDS)


@pytest.mark.parametrize(
    ("place", "name", "fault"),
    [
        (arrays.TracingArray, "_opened", lambda self: self._data),
        (Builder, "maximum", lambda self, a, b: a),
        (Builder, "shift", lambda self, form, source: form),
        (arrays, "_is_basic", lambda index: False),
    ],
    ids=["views that are never out of date", "a wrong maximum", "tokens that do not move", "views that are copies"],
)
def test_planted_faults_are_found(monkeypatch, place, name, fault):
    monkeypatch.setattr(place, name, fault)
    assert any(outcome(seed) == "wrong" for seed in SEEDS)
