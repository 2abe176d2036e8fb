import subprocess
import sys

import numpy as np
import pytest

from anyformer.errors import ModelFileError
from anyformer.exports.onnx import run_onnx, write


def test_a_file_is_written_and_runs(compiled_models, tmp_path):
    place = write(compiled_models[0], tmp_path / "new" / "model.onnx", batch=2)
    x = np.full((2, 3, 1), 0.25)
    assert np.allclose(run_onnx(place.read_bytes(), x), compiled_models[0](x), rtol=0, atol=2**-48)
    assert [path.name for path in place.parent.iterdir()] == ["model.onnx"]


def test_the_same_model_has_the_same_bytes(compiled_models, tmp_path):
    one, two = (write(compiled_models[0], tmp_path / f"{k}.onnx").read_bytes() for k in range(2))
    assert one == two


def test_nothing_is_replaced_unasked(compiled_models, tmp_path):
    place = tmp_path / "model.onnx"
    place.write_text("mine")
    with pytest.raises(ModelFileError, match="must not exist"):
        write(compiled_models[0], place)
    assert place.read_text() == "mine"
    write(compiled_models[0], place, overwrite=True)
    assert place.stat().st_size > 100


@pytest.mark.parametrize("name", ["model.txt", "model"])
def test_the_ending_is_checked(compiled_models, tmp_path, name):
    with pytest.raises(ModelFileError, match=r"must end in \.onnx"):
        write(compiled_models[0], tmp_path / name)


def test_folders_are_not_replaced(compiled_models, tmp_path):
    (tmp_path / "model.onnx").mkdir()
    with pytest.raises(ModelFileError, match="something else"):
        write(compiled_models[0], tmp_path / "model.onnx", overwrite=True)


@pytest.mark.parametrize(("module", "extra"), [("onnx", "onnx"), ("vnnlib", "vnnlib")])
def test_a_missing_package_is_named_with_its_cure(module, extra):
    script = f"import sys; sys.modules['onnx'] = None; import anyformer.exports.{module}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "onnx must be installed" in done.stderr
    assert f'pip install "anyformer[{extra}]"' in done.stderr
