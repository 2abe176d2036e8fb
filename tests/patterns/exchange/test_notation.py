"""What is printed of a pattern can be typed again: the notation and JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from anyformer.patterns import (
    CATALOGUE,
    Arrangement,
    Axial,
    BigBird,
    Blocked,
    BlockLocal,
    Butterfly,
    Causal,
    DilatedWindow,
    Fixed,
    Full,
    Hypercube,
    Intersection,
    Longformer,
    Multihead,
    PatternError,
    PlainStar,
    Random,
    Ring,
    Sequential,
    SlidingWindow,
    Star,
    Strided,
    Union,
    from_json,
    in_short,
    named,
    parse,
    read_pattern,
    to_json,
)
from anyformer.patterns.exchange.json_form import KINDS

counts, sizes = some.integers(0, 2**40), some.integers(1, 2**40)
some_sizes, arrangements = some.none() | sizes, some.sampled_from(Arrangement)
FAMILIES = {
    Full: some.builds(Full),
    SlidingWindow: some.builds(SlidingWindow, counts),
    DilatedWindow: some.builds(DilatedWindow, counts, sizes),
    Strided: some.builds(Strided, some_sizes, arrangements),
    Fixed: some.builds(Fixed, some_sizes, arrangements),
    Star: some.builds(Star),
    PlainStar: some.builds(PlainStar),
    Random: some.builds(Random, some.none() | some.floats(0, 1), counts)
    | some.builds(Random, seed=counts, keys=counts),
    BigBird: some.builds(BigBird, counts, counts, counts, counts),
    Longformer: some.builds(Longformer, counts, counts),
    BlockLocal: some.builds(BlockLocal, some_sizes),
    Axial: some.builds(Axial, some_sizes, arrangements),
    Hypercube: some.builds(Hypercube),
    Butterfly: some.builds(Butterfly),
    Ring: some.builds(Ring),
}
SEVERAL = (Union, Intersection, Sequential, Multihead)


def combined(families):
    parts = some.lists(families, min_size=1, max_size=3).map(tuple)
    several = [some.builds(combinator, parts) for combinator in SEVERAL]
    return some.one_of(some.builds(Causal, families), some.builds(Blocked, families, sizes), *several)


nested = some.recursive(some.one_of(*FAMILIES.values()), combined, max_leaves=8)


def test_every_kind_is_drawn():
    assert set(KINDS.values()) == {*FAMILIES, Causal, Blocked, *SEVERAL}


@given(nested)
def test_the_notation_comes_back(family):
    assert parse(in_short(family)) == family
    assert read_pattern(in_short(family).replace(" ", "")) == family


@given(nested)
def test_json_comes_back(family):
    text = json.dumps(to_json(family))
    assert read_pattern(text) == from_json(json.loads(text)) == family
    assert read_pattern(json.dumps({"pattern": in_short(family), "described": to_json(family)})) == family


@pytest.mark.parametrize("name", CATALOGUE)
def test_names_of_the_catalogue_can_be_combined(name):
    assert parse(f"sequential({name},ring)") == Sequential((named(name), Ring()))


@pytest.mark.parametrize(
    ("text", "family"),
    [
        (" causal ( union( ring ,sliding_window:2 ) ) ", Causal(Union((Ring(), SlidingWindow(2))))),
        ("union(strided:stride=2 , arrangement=union, ring)", Union((Strided(2, Arrangement.UNION), Ring()))),
        (
            "blocked(bigbird:random_keys=3,seed=7):block=64",
            Blocked(BigBird(half_width=1, global_tokens=1, random_keys=3, seed=7), block=64),
        ),
        ("union(blocked(ring): block = 4, causal)", Union((Blocked(Ring(), 4), Causal(Full())))),
        ("union(causal(ring), causal:)", Union((Causal(Ring()), Causal(Full())))),
        ("random:keys=16", Random(keys=16)),
    ],
)
def test_what_people_type(text, family):
    assert parse(text) == family


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("onion(ring)", "must be one of causal, blocked, union.* got 'onion'. Did you mean 'union'"),
        ("ring(star)", "a pattern of patterns must be one of causal"),
        ("union(ring", "every bracket must be closed once; got 'union"),
        ("union)ring(", "every bracket must be closed once"),
        ("union(ring))", "every bracket must be closed once"),
        ("union(ring, (star)", "every bracket must be closed once"),
        ("union(ring), union(star)", r"must read name\(pattern, …\) or .* got 'union\(ring\), union"),
        ("union(ring) star", r"must read name\(pattern"),
        ("union()", "a pattern must be one of full"),
        ("union(ring,)", "a pattern must be one of full"),
        ("union(stride=2, ring)", "a pattern must be one of full"),
        ("causal(ring, star)", r"causal\(…\) must be of one pattern; got 2"),
        ("blocked(ring)", r"blocked\(…\) must get the options block; got none. Write blocked\(ring\):block=…"),
        ("blocked(ring):size=3", "must get the options block; got size"),
        ("blocked(ring):block=0", "block must be at least 1"),
        ("blocked(ring):block=4,block=5", "given once each"),
        ("blocked(ring):4", r"must read key=value.* Example: blocked\(ring\):block="),
        ("union(ring):block=3", r"union\(…\) must get no options; got block"),
        ("causal(" * 40 + "ring" + ")" * 40, "nested at most 32 deep"),
        ("causal(" * 100_000 + "ring" + ")" * 100_000, "nested at most 32 deep"),
        ("explicit pattern", "a pattern must be one of full"),
        ("nowhere.json", "'nowhere.json' must be a file that can be read"),
        ("{", "must be JSON"),
        ('{"kind": "ring", "kind": "star"}', "must be JSON; the key 'kind' must be there once"),
        ('{"kind": "rung"}', '"kind" is one of explicit, full'),
        ('{"pattern": "ring"}', '"kind" is one of explicit, full'),
        ('{"kind": "causal", "of": ' * 70 + '{"kind": "ring"}' + "}" * 70, "nested at most 64 deep"),
    ],
    ids=lambda text: text[:30],
)
def test_what_is_no_pattern_is_refused_in_words(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PatternError, match=message):
        read_pattern(text)


def test_files(tmp_path):
    place = tmp_path / "mine.json"
    place.write_text(json.dumps(to_json(Strided().at(6))))
    assert read_pattern(str(place)) == Strided().at(6)
    place.write_bytes(b"\xff\xfe")
    with pytest.raises(PatternError, match="must be JSON"):
        read_pattern(str(place))
    with pytest.raises(PatternError, match="must be a file that can be read"):
        read_pattern(f"{tmp_path}/.json")
