"""The table of docs/sparse.md is what the package builds."""

import re
from pathlib import Path

import pytest

import anyformer as af
from anyformer.comparison import Attempt, attempt
from anyformer.construction import METHODS, Request
from anyformer.patterns import parse

PAGE = (Path(__file__).parents[1] / "docs" / "sparse.md").read_text()
ROW = re.compile(r"^\| ([\w-]+) \| (.+?) \| (\d+) \| (.+?) \| (\d+) \|$", re.MULTILINE)
SHOWN = {name: tuple(rest) for name, *rest in ROW.findall(PAGE)}
CERTIFIED = re.findall(r"all certified at ([\d.]+)", PAGE)
CELLS = re.findall(r"pattern, 4 tokens, (\d+) cells", PAGE)


def built(name: str, method: str) -> Attempt:
    target = af.targets.sort(tokens=4)
    return attempt(Request(target=target, tolerance=0.2, method=METHODS[method], pattern=parse(name)))


def row(name: str) -> tuple[str, str, str, str]:
    shift, averaging = built(name, "sparse-selective-shift"), built(name, "sparse-averaging")
    for one in (shift, averaging):
        if one.model is not None:
            assert f"{one.model.certificate.certified_error:.4f}" == CERTIFIED[0]
            assert [str(count) for count in one.plan.lattice.counts] == CELLS
    assert shift.model is not None or "path: fails" in shift.refused
    layers, bits = ("refused: no path", "–") if shift.model is None else figures(shift)
    return layers, figures(averaging)[0], bits, figures(averaging)[1]


def figures(one: Attempt) -> tuple[str, str]:
    return str(one.model.network.attention_layer_count), str(one.plan.id_bits)


def test_the_page_has_the_table():
    assert len(SHOWN) == 7
    assert len(CERTIFIED) == len(CELLS) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_a_row_is_true(name):
    assert row(name) == SHOWN[name]


def test_one_row_is_true_in_every_run():
    averaging = built("star", "sparse-averaging")
    assert figures(averaging) == (SHOWN["star"][1], SHOWN["star"][3])
    assert f"{averaging.model.certificate.certified_error:.4f}" == CERTIFIED[0]
