"""Fields of mixers in configs, in recipes and as they are typed; what no config can hold is refused."""

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from torch import nn

from anyformer.errors import TrainingError
from anyformer.mixers import Attention, Average, Mixer, MixerError, from_json, register_mixer, to_json
from anyformer.patterns import Longformer, PatternFamily, Ring, SlidingWindow, Star
from anyformer.training import parse_mixers, read_recipe

RING, AVERAGE = Ring(), Average()


class Nothing:
    """What all mixers here build."""

    def build(self, width, dropout=0.0):
        return nn.Identity()


@dataclass(frozen=True)
class Rich(Nothing):
    """A field of every kind."""

    heads: int
    scale: float = 1.0
    name: str = "x"
    shared: bool = False
    limit: int | None = None
    windows: tuple[int, ...] = (3, 5)
    pairs: tuple[tuple[int, str], ...] = ()
    rates: list[float] = field(default_factory=lambda: [0.5], hash=False)
    pattern: PatternFamily = RING
    inner: Mixer = AVERAGE
    both: tuple[Any, ...] = ()
    derived: int = field(init=False, default=0)


@dataclass(frozen=True)
class Bare(Nothing):
    """No defaults to tell from."""

    pattern: PatternFamily
    inner: "Mixer"
    windows: tuple[int, ...]
    rates: "list[float]"
    name: str


@dataclass(frozen=True)
class Holds(Nothing):
    """Whatever it is given."""

    value: Any = None


@dataclass(frozen=True)
class Picky(Nothing):
    """A user's own checks raise what they like."""

    size: int = 1

    def __post_init__(self):
        if self.size < 1:
            raise ValueError("size is too small.")


@dataclass(frozen=True)
class Forgetful(Nothing):
    """What comes in is not what is kept."""

    size: int = 1

    def __post_init__(self):
        object.__setattr__(self, "size", self.size + 1)


@pytest.fixture(autouse=True)
def names(shipped):
    for kind in (Rich, Bare, Holds, Picky, Forgetful):
        register_mixer(kind.__name__.lower(), kind)


VALUES = [
    Rich(2),
    Rich(
        3, 0.25, "y", True, 7, (), ((1, "a"), (2, "b")), [1.0, 2.5], SlidingWindow(4), Attention(3), (Star(), Rich(4))
    ),
    Bare(Star(), Rich(1), (7,), [0.1], "(a,b)"),
    *(Holds(value) for value in (1, 0.5, "text", "(1,2)", True, None, (1, (2, "a")), Ring(), Holds(Holds(Average())))),
]


@pytest.mark.parametrize("mixer", VALUES, ids=repr)
def test_every_kind_of_field_comes_back_from_json(mixer):
    again = from_json(json.loads(json.dumps(to_json(mixer), allow_nan=False)))
    assert again == mixer
    assert repr(again) == repr(mixer)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({1, 2}, r"\{1, 2\}"),
        ({"a": 1}, "'a': 1"),
        (np.zeros(2), "array"),
        (np.int64(3), "int64"),
        (float("nan"), "nan"),
        ((1, float("inf")), "inf"),
        (b"bytes", "bytes"),
        (nn.ReLU, "ReLU"),
        (Nothing.build, "function"),
    ],
)
def test_what_json_cannot_hold_is_refused(value, shown):
    with pytest.raises(MixerError, match=f"a field of a mixer must be a number, .*value of Holds is not: .*{shown}"):
        to_json(Holds(value))


def test_patterns_and_mixers_of_one_s_own_need_names_there():
    class Backwards(PatternFamily):
        def at(self, tokens): ...

    @dataclass(frozen=True)
    class Nameless(Nothing): ...

    with pytest.raises(MixerError, match="value of Holds is not: a family must be one of"):
        to_json(Holds(Backwards()))
    with pytest.raises(MixerError, match=r"must be of a registered class; .*Nameless"):
        to_json(Holds(Nameless()))


def test_what_does_not_come_back_the_same_is_refused():
    with pytest.raises(MixerError, match=r"must be the same again.*Forgetful\(size=2\) becomes Forgetful\(size=3\)"):
        to_json(Forgetful(1))
    with pytest.raises(MixerError, match=r"must be the same again.*\[1, 2\].*\(1, 2\)"):
        to_json(Holds([1, 2]))


@pytest.mark.parametrize(
    ("text", "mixer"),
    [
        ("rich:heads=2,scale=0.5,name=z,shared=true", Rich(2, 0.5, "z", True)),
        ("rich:heads=2,windows=(1,2,3)", Rich(2, windows=(1, 2, 3))),
        ("rich:heads=2,rates=(1,0.5)", Rich(2, rates=[1, 0.5])),
        ("rich:heads=2,pattern=(longformer:half_width=8,global_tokens=2)", Rich(2, pattern=Longformer(8, 2))),
        ("rich:heads=2,inner=(attention:heads=4)", Rich(2, inner=Attention(4))),
        ("rich:heads=2,inner=(rich:heads=3,windows=(4,5))", Rich(2, inner=Rich(3, windows=(4, 5)))),
        (
            "bare:pattern=star,inner=average,windows=(1),rates=(2),name=(a,b)",
            Bare(Star(), Average(), (1,), [2], "(a,b)"),
        ),
        ("holds:(1,2)", Holds("(1,2)")),
    ],
)
def test_fields_as_they_are_typed(text, mixer, tmp_path):
    assert parse_mixers([text]) == (mixer,)
    place = tmp_path / "recipe.toml"
    place.write_text(f'size = "tiny"\n[architecture]\nmixers = "{text}"\n')
    assert read_recipe(place).architecture.stack == (mixer,) * 2


def test_fields_in_a_recipe_s_table(tmp_path):
    place = tmp_path / "recipe.toml"
    place.write_text(
        'size = "tiny"\n[architecture]\nmixers = {kind = "rich", heads = 3, windows = [9, 8], pattern = "star",'
        ' inner = {mixer = {kind = "attention", heads = 2}}}\n'
    )
    recipe = read_recipe(place)
    assert recipe.architecture.mixers == (Rich(3, windows=(9, 8), pattern=Star(), inner=Attention(2)),)
    assert recipe.to_json()["architecture"]["mixers"] == [to_json(recipe.architecture.mixers[0])] * 2


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"kind": "rich"}, "the mixer 'rich' must get heads; got none. Write rich:heads=VALUE"),
        ({"kind": "rich", "heads": 1, "head": 2}, "got 'head'. Did you mean 'heads'"),
        ({"kind": "rich", "heads": 1, "derived": 2}, "got 'derived'"),
        ({"kind": "rich", "heads": 1, "pattern": {"kind": "rong"}}, "the pattern of a mixer must be .*rong"),
        ({"kind": "rich", "heads": 1, "inner": {"mixer": {"kind": "rong"}}}, "a mixer must be one of .*got 'rong'"),
        ({"kind": "rich", "heads": 1, "inner": {"mixer": 3}}, "the mixer 'rich' must take its parameters; .*raised"),
        (
            {"kind": "picky", "size": 0},
            r"'picky' must take its parameters; \{'size': 0\} raised ValueError: size is too small\. Give",
        ),
        ({"kind": "picky", "size": "a"}, "'picky' must take its parameters; .* raised TypeError"),
    ],
)
def test_wrong_fields_are_refused(described, message):
    with pytest.raises(MixerError, match=message):
        from_json(described)


def test_a_mixer_within_itself_without_end_is_refused():
    described: dict[str, Any] = {"kind": "holds"}
    for _ in range(3000):
        described = {"kind": "holds", "value": {"mixer": described}}
    with pytest.raises(MixerError, match="must take its parameters"):
        from_json(described)


def test_a_command_line_repeats_what_is_wrong():
    with pytest.raises(TrainingError, match=r"mixers must be those of the catalogue.*got 'picky:0': the mixer 'picky'"):
        parse_mixers(["picky:0"])
