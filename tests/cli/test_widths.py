"""Every verb's text on terminals of any width: the same words and numbers, none of them broken."""

import re
from collections import Counter

import pytest

VERBS = {
    "targets": [],
    "plan": ["centre", "--tokens", "3", "--width", "2", "--epsilon", "0.7"],
    "plan --method averaging": ["centre", "--tokens", "3", "--width", "2", "--epsilon", "0.7"],
    "verify": ["FOLDER"],
    "verify COMPILED": [],
    "describe": ["FOLDER"],
    "describe COMPILED": [],
    "trace": ["FOLDER", "--input", "0.15, 0.8; 0.25, 0.3333333333333"],
    "pattern list": [],
    "pattern check": ["strided", "--tokens", "64"],
    "pattern design": ["--tokens", "30", "--capacity", "9"],
}


def numbers(text):
    """Whatever has a digit in it, as it stands between blanks."""
    return Counter(word for word in text.split() if re.search(r"\d", word))


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("verb", VERBS)
def test_no_number_is_broken_or_lost(call, folders, monkeypatch, verb, columns):
    places = {"FOLDER": str(folders["centre"]), "COMPILED": str(folders["softmax"])}
    arguments = [places.get(one, one) for one in (*verb.split(), *VERBS[verb])]
    # The time expected is measured, and never exactly the same twice.
    monkeypatch.setattr("anyformer.construction.plans.table_plan.cutting_seconds", lambda *_: 0.25)
    monkeypatch.setenv("COLUMNS", "1000")
    wide = call(*arguments)
    monkeypatch.setenv("COLUMNS", str(columns))
    narrow = call(*arguments)
    assert narrow.code == wide.code == 0
    assert numbers(wide.out) == numbers(narrow.out)
    # A digest is wider than some terminals, and a name of ours than the narrowest; all else keeps within the width.
    too_wide = [line.strip() for line in narrow.out.splitlines() if len(line) > columns]
    assert all(" " not in line for line in too_wide)
    assert len(too_wide) <= (2 if columns < 80 else 0)
