"""`explore`: a page from a folder."""


def test_explore_writes_a_page(call, folders, tmp_path):
    place = tmp_path / "page.html"
    outcome = call("explore", folders["softmax"], "-o", place, "--json")
    assert outcome.code == 0
    assert outcome.data == {"output": str(place), "bytes": place.stat().st_size}
    assert place.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    again = call("explore", folders["softmax"], "-o", place)
    assert again.code == 2
    assert "must be a new file" in again.err
    assert "kB written to" in call("explore", folders["softmax"], "-o", place, "--overwrite").out


def test_a_place_is_refused_before_anything_is_read(call, tmp_path):
    outcome = call("explore", tmp_path / "nothing", "-o", tmp_path)
    assert outcome.code == 2
    assert "is a folder" in outcome.err
