"""Measurements while training: written as lines of JSON and for TensorBoard, and passed to a progress bar."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, Any, Self

from anyformer.extras import require
from anyformer.training.run.folder import RunFolder

Watch = Callable[[Mapping[str, Any]], None]
"""A callback such as a progress bar: it gets the rows of metrics.jsonl as they come."""


@dataclass(frozen=True)
class Metrics:
    """Where measurements go; nowhere in processes other than the main one."""

    file: IO[str] | None
    board: Any
    watch: Watch | None

    @classmethod
    @contextmanager
    def open(cls, folder: RunFolder, step: int, is_main: bool, watch: Watch | None) -> Iterator[Self]:
        """Continue after a step: what an earlier start measured after it is dropped."""
        if not is_main:
            yield cls(None, None, None)
            return
        tensorboard = require("torch.utils.tensorboard", extra="train", what="the curves of a training run")
        folder.forget_after(step)
        with ExitStack() as stack:
            file = stack.enter_context(folder.metrics.open("a", buffering=1, encoding="utf-8"))
            board = stack.enter_context(
                tensorboard.SummaryWriter(str(folder.place / "tensorboard"), purge_step=step + 1)
            )
            yield cls(file, board, watch)

    def add(self, step: int, **measured: float) -> None:
        """A row."""
        if self.file is None or not measured:
            return
        row = {"step": step, **measured}
        # JSON has no NaN; a value that is not finite is null in the file.
        finite = {name: value if math.isfinite(value) else None for name, value in row.items()}
        self.file.write(json.dumps(finite, allow_nan=False) + "\n")
        for name, value in measured.items():
            self.board.add_scalar(name, value, step)
        if self.watch is not None:
            self.watch(row)

    def flush(self) -> None:
        """Hand everything to the disk."""
        if self.file is not None:
            self.file.flush()
            self.board.flush()
