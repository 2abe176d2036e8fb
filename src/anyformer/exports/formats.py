"""The formats that a model can be taken away in, by name. What writes them is imported when it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from anyformer.errors import ExportError
from anyformer.exports.proved import Proved
from anyformer.extras import require


@dataclass(frozen=True)
class Format:
    """Where a format's `write(model, out, *, overwrite, …)` is, and what it needs."""

    module: str
    extra: str
    """Which extra of anyformer installs what it needs."""
    what: str
    """What it writes, for users."""
    options: tuple[str, ...] = ()
    """Which arguments `write` takes besides the model, the place and `overwrite`."""


FORMATS: Final[Mapping[str, Format]] = {
    "torch": Format("anyformer.exports.pytorch", "torch", "a PyTorch module's weights"),
    "huggingface": Format("anyformer.exports.huggingface", "huggingface", "a folder for AutoModel"),
    "onnx": Format("anyformer.exports.onnx", "onnx", "an ONNX file", ("batch",)),
    "vnnlib": Format(
        "anyformer.exports.vnnlib",
        "vnnlib",
        "a benchmark for verifiers",
        ("seed", "instances", "fold_uniform", "target"),
    ),
    "transformer-lens": Format(
        "anyformer.exports.transformer_lens", "interpretability", "weights for TransformerLens", ("target",)
    ),
}


def named_format(name: str) -> Format:
    """A format by its name.

    >>> named_format("onnx").extra
    'onnx'

    Raises ExportError if there is none of this name.
    """
    if name not in FORMATS:
        raise ExportError(f"the format must be one of {', '.join(FORMATS)}; got {name!r}. Choose one of them.")
    return FORMATS[name]


def write(model: Proved, out: Path, name: str, *, overwrite: bool = False, **options: Any) -> Path:
    """Write a model in a format, all or nothing.

    Args:
        model: anything with a network and its certificate.
        out: the file or folder.
        name: the format's.
        overwrite: replace what this format wrote there before.
        options: what the format takes besides; one that it does not take is refused.

    Returns:
        The file or folder.
    """
    chosen = named_format(name)
    for option in options:
        if option not in chosen.options:
            takes = ", ".join(chosen.options) or "no options"
            raise ExportError(f"the format {name} takes {takes}; got {option}. Leave it out.")
    module = require(chosen.module, extra=chosen.extra, what=f"the format {name}")
    written: Path = module.write(model, out, overwrite=overwrite, **options)
    return written
