"""A mixer as an ONNX file, run and compared before it counts as exported."""

import importlib
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anyformer.mixers.errors import MixerError
from anyformer.mixers.mixer import TokenMixer

OPSET = 18
_EXPORTED, _TRIED = (2, 7), (3, 5)


def export_onnx(mixer: TokenMixer, place: str | Path) -> Path:
    """Write a mixer to an .onnx file for any batch and any number of tokens.

    The file is then run by ONNX Runtime on another batch and another length, one sequence all padding, and must give
    what PyTorch gives; otherwise MixerError, and no file.

    Args:
        mixer: in evaluation mode; inputs are `hidden` and `attention_mask` (int64), the output is `mixed`.
        place: the file.

    Returns:
        The place.
    """
    runtime, place = _require("onnxruntime"), Path(place)
    _require("onnx"), _require("onnxscript")
    try:
        with _quiet():
            model = _exported(mixer)
        session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise MixerError(
            f"{mixer!r} must be exported to ONNX; it raised {type(error).__name__}: {str(error)[:300]}."
            " Use operations of PyTorch alone, and no decisions on the contents of tensors."
        ) from error
    _compare(mixer, session, *_example(mixer, *_TRIED))
    place.write_bytes(model)
    return place


def _example(mixer: TokenMixer, batch: int, tokens: int) -> tuple[Tensor, Tensor]:
    """A batch whose first sequence is all padding and whose last is whole."""
    parameter = next(mixer.parameters(), torch.empty(0))
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(batch, tokens, mixer.width, generator=generator).to(parameter)
    lengths = torch.linspace(0, tokens, batch).long()
    return hidden, (torch.arange(tokens) < lengths[:, None]).long().to(parameter.device)


def _exported(mixer: TokenMixer) -> bytes:
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    program = torch.onnx.export(
        mixer,
        _example(mixer, *_EXPORTED),
        input_names=["hidden", "attention_mask"],
        output_names=["mixed"],
        opset_version=OPSET,
        dynamic_shapes=(free, free),
        dynamo=True,
        verbose=False,
    )
    exported: bytes = program.model_proto.SerializeToString()
    return exported


def _compare(mixer: TokenMixer, session: Any, hidden: Tensor, mask: Tensor) -> None:
    with torch.no_grad():
        wanted = mixer(hidden, mask).cpu().numpy()
    (got,) = session.run(None, {"hidden": hidden.cpu().numpy(), "attention_mask": mask.cpu().numpy()})
    real = mask.cpu().numpy().astype(bool)
    # Both add at most tokens + 2·width products, in orders of their own; a sum errs by a rounding for each of them.
    rounding = (hidden.shape[1] + 2 * mixer.width) * np.finfo(wanted.dtype).eps * max(1.0, float(np.abs(wanted).max()))
    away = np.abs(got - wanted).max(initial=0, where=real[..., None]) if got.shape == wanted.shape else np.inf
    if not away <= rounding or got[~real.any(axis=1)].any():
        raise MixerError(
            f"{mixer!r} must give the same by ONNX Runtime as by PyTorch, up to {rounding:.1e}; got {away:.1e}."
            " See that no size of the example was written into the graph."
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter speaks of its own deprecations and of what it tried; errors still come through."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _require(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise ImportError(
            f"ONNX files need {module}, which cannot be imported ({missing}). Install it: pip install anyformer[onnx]"
        ) from missing
