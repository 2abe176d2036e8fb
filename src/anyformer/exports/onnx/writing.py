"""Writing an ONNX file, in one step or not at all."""

from pathlib import Path

from anyformer.atomic import atomic_file
from anyformer.errors import ModelFileError, words_of
from anyformer.exports.onnx.model import to_onnx
from anyformer.exports.proved import Proved

SUFFIX = ".onnx"


def write(model: Proved, out: Path, *, batch: int | None = None, overwrite: bool = False) -> Path:
    """Write a model to an .onnx file.

    Args:
        model: anything with a network and its certificate.
        out: the file; missing folders are made.
        batch: how many sequences a call takes; any number if not given.
        overwrite: replace an .onnx file that is there.

    Returns:
        The file.
    """
    out = Path(out)
    _check_place(out, overwrite)
    content = to_onnx(model, batch).SerializeToString(deterministic=True)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(out) as file:
            file.write(content)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"could not write {out}: {words_of(error)}. Fix the cause and export again.") from error
    return out


def _check_place(out: Path, overwrite: bool) -> None:
    if out.suffix != SUFFIX:
        raise ModelFileError(f"an ONNX file's name must end in {SUFFIX}; got {str(out)!r}. Add the ending.")
    if out.is_symlink() or (out.exists() and not out.is_file()):
        raise ModelFileError(f"{out} must be a file or not exist; it is something else. Choose another place.")
    if out.exists() and not overwrite:
        raise ModelFileError(f"{out} must not exist; there is such a file. Pass overwrite to replace it.")
