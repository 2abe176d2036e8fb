import pytest

from anyformer.errors import ModelFileError
from anyformer.exports.vnnlib import to_vnnlib
from anyformer.exports.vnnlib.writing import files, write_benchmark


@pytest.fixture(scope="module")
def made(narrow_models):
    return to_vnnlib(narrow_models[0], instances=2)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_files_are_written_and_no_others(made, tmp_path):
    place = write_benchmark(made, tmp_path / "new" / "bench")
    assert contents(place) == files(made)
    assert [path.name for path in place.parent.iterdir()] == ["bench"]


def test_nothing_is_replaced_unasked(made, tmp_path):
    place = write_benchmark(made, tmp_path / "bench")
    (place / "instances.csv").write_text("")
    with pytest.raises(ModelFileError, match="Pass overwrite to replace it"):
        write_benchmark(made, place)
    assert (place / "instances.csv").read_text() == ""
    assert contents(write_benchmark(made, place, overwrite=True)) == files(made)


@pytest.mark.parametrize("what", ["mine.txt", "onnx", "verdicts.json"])
def test_a_folder_with_anything_else_is_never_replaced(made, tmp_path, what):
    place = tmp_path / "bench"
    place.mkdir()
    (place / what).write_text('{"format": "another"}')
    with pytest.raises(ModelFileError, match="it holds something else"):
        write_benchmark(made, place, overwrite=True)
    assert (place / what).read_text() == '{"format": "another"}'


def test_a_file_is_not_replaced(made, tmp_path):
    (tmp_path / "bench").write_text("mine")
    with pytest.raises(ModelFileError, match="something else"):
        write_benchmark(made, tmp_path / "bench", overwrite=True)


def test_a_foreign_file_beside_ours_is_kept(made, tmp_path):
    place = write_benchmark(made, tmp_path / "bench")
    (place / "notes.txt").write_text("mine")
    with pytest.raises(ModelFileError, match="it holds something else"):
        write_benchmark(made, place, overwrite=True)
    assert (place / "notes.txt").read_text() == "mine"
