"""A process killed while it saves leaves the old model or the new one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(sys, "addaudithook") or sys.platform == "win32", reason="forks and kills")


@pytest.fixture
def kills(originals, tmp_path):
    def run(how):
        script = Path(__file__).with_name("killing.py")
        command = [sys.executable, str(script), how, str(tmp_path), str(originals[0]), str(originals[1])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        *found, end = [json.loads(line) for line in done.stdout.splitlines()]
        assert end == {"place": 0, "names": ["model"]}
        return found

    return run


def test_at_random_moments(kills):
    found = kills("moments")
    assert len(found) == 20
    # How many kills come before the change and how many after it is up to the machine; the next test has both.
    assert {entry["place"] for entry in found} <= {0, 1}


def test_before_every_step_of_replacing_a_model(kills):
    places = [entry["place"] for entry in kills("steps")]
    assert len(places) > 15
    # First the old one, from some step on the new one, and nothing else.
    assert places == sorted(places)
    assert set(places) == {0, 1}


def test_before_every_step_of_saving_a_new_model(kills):
    places = [entry["place"] for entry in kills("new")]
    moved_in = places.index(1)
    assert set(places[moved_in:]) == {1}
    assert all("there is none" in place for place in places[:moved_in])


def test_before_every_step_where_folders_cannot_be_exchanged(kills):
    found = kills("two-steps")
    missing = [entry for entry in found if entry["place"] not in (0, 1)]
    # Between the two renames there is no model, and the message says where the old one is.
    assert 0 < len(missing) <= 2
    for entry in missing:
        assert "a save that was interrupted has left .model.partial-" in entry["place"]
        assert 0 in entry["beside"]
