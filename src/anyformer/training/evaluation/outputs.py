"""Where results may be written: nothing is lost but earlier results."""

import re
from pathlib import Path
from typing import Final

from anyformer.errors import TrainingError

_START: Final = 1 << 20
"""Bytes that tell what a file is."""
_PREDICTIONS: Final = re.compile(r'\{"id": .*"predicted": ')
_EVALUATION: Final = re.compile(r'\{\s*"model": ".*",\s*"weights": "')


def require_replaceable(file: Path, model: Path, data: str) -> None:
    """Refuse to write where that would destroy the model, the data, or anything but an earlier result."""
    folder = file.parent
    if file.is_dir() or (folder.exists() and not folder.is_dir()):
        got = f"{file} is a folder" if file.is_dir() else f"{folder} is a file"
        raise TrainingError(f"results must go to a file in a folder; {got}. Name another output.")
    if file.resolve().is_relative_to(model.resolve()):
        raise TrainingError(f"results must not go into the folder of the model; got {file}. Name another output.")
    if file.resolve() == Path(data).resolve():
        raise TrainingError(f"results must not replace the data; got {file} for both. Name another output.")
    if file.exists() and not (file.is_file() and _is_result(file)):  # to read a pipe would wait
        raise TrainingError(f"only earlier results are replaced; {file} is something else. Name another output.")


def _is_result(file: Path) -> bool:
    """Whether it is empty, or starts as predictions or an evaluation do."""
    with file.open("rb") as opened:
        start = opened.read(_START).decode(errors="replace")
    return not start or bool(_PREDICTIONS.match(start)) or bool(_EVALUATION.match(start))
