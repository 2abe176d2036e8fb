"""The folder of a run: what defines the run, which process works on it, what was measured, and in the end the model.

run.json          `identity`, what decides the outcome: another run is refused in the same folder; and `about`, what the
                  model and the data were called
metrics.jsonl     one line for each thing measured
tensorboard/      the same for TensorBoard
checkpoints/      where it stands
model/            the result, as Hugging Face keeps models; its presence says that the run is complete
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from anyformer import strict_json
from anyformer.atomic import atomic_folder, write_text
from anyformer.errors import RunInUse, TrainingError, words_of
from anyformer.saved_folders import quiet
from anyformer.training.run.model_folder import save_model
from anyformer.training.run.writing import writing


@dataclass(frozen=True)
class RunFolder:
    """One run's place on disk."""

    place: Path

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints go."""
        return self.place / "checkpoints"

    @property
    def metrics(self) -> Path:
        """What was measured."""
        return self.place / "metrics.jsonl"

    @property
    def model(self) -> Path:
        """The result."""
        return self.place / "model"

    @property
    def is_complete(self) -> bool:
        """Whether the result is there."""
        return self.identity_file.is_file() and self.model.is_dir()

    @property
    def identity_file(self) -> Path:
        """What defines the run."""
        return self.place / "run.json"

    def begin(self, identity: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> None:
        """Make this the folder of the run, or check that it is already.

        Args:
            identity: what decides the outcome.
            about: names and sizes for readers; a run goes on under other names.

        Raises:
            TrainingError: if it belongs to another run, or to something else altogether.
        """
        self.require_same(identity)
        if self.identity_file.is_file():
            return
        self.place.mkdir(parents=True, exist_ok=True)
        write_text(self.identity_file, json.dumps({"identity": identity, "about": about or {}}, indent=2) + "\n")

    def require_same(self, identity: Mapping[str, Any], unknown: str | None = None) -> None:
        """Refuse a place of another run, or of something else altogether; nothing is touched.

        Args:
            identity: what decides the outcome, as `begin` gets it.
            unknown: entries of this name are not known yet, and not compared.
        """
        self.require_free()
        if self.identity_file.is_file():
            _same(self.identity_file, strict_json.loads(json.dumps(identity)), unknown)

    def require_free(self) -> None:
        """Refuse a place that holds anything other than a run."""
        if not self.identity_file.is_file():
            require_only(self.place, {"lock", "text"})

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the run while this process works on it. A killed process holds nothing.

        Raises:
            RunInUse: if another process does.
        """
        self.place.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.place / "lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise RunInUse(
                f"only one process may work on a run at a time; another one works on {self.place}. Wait for it."
            ) from None
        try:
            yield
        finally:
            lock.release()

    def finish(self, model: Any, tokenizer: Any) -> None:
        """Write the model, in one step."""
        with writing("the model", self.model), quiet(), atomic_folder(self.model) as part:
            save_model(part, model, tokenizer, self.about(), self.rows())
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    def about(self) -> dict[str, Any]:
        """What the run was made from, in the words of run.json: names and sizes, for readers."""
        told = strict_json.read(self.identity_file) if self.identity_file.is_file() else {}
        known: dict[str, Any] = told.get("about") or {"text": told.get("text")}
        return known

    def rows(self) -> list[dict[str, Any]]:
        """What was measured; a last line that a killed process did not finish is left out."""
        if not self.metrics.is_file():
            return []
        try:
            lines = self.metrics.read_text("utf-8").split("\n")[:-1]
            return [_row(strict_json.loads(line)) for line in lines if line]
        except ValueError as error:
            raise TrainingError(
                f"{self.metrics} must have a JSON object a line; it is damaged: {words_of(error)}."
            ) from error

    def forget_after(self, step: int) -> None:
        """Drop what was measured after a checkpoint, all of it if there is none: it will be measured again."""
        kept = [row for row in self.rows() if step and row["step"] <= step]
        write_text(self.metrics, "".join(json.dumps(row) + "\n" for row in kept))


@contextmanager
def removed_after_a_mistake(place: Path, *names: str) -> Iterator[None]:
    """After a TrainingError, remove those of the names that were not in the folder before, and a folder that is new."""
    new = [name for name in names if not (place / name).exists()]
    is_new = not place.exists()
    try:
        yield
    except TrainingError:
        for name in new:
            with suppress(OSError):
                path = place / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if is_new:
            with suppress(OSError):  # somebody else may have put something there meanwhile
                place.rmdir()
        raise


def require_only(place: Path, ours: set[str]) -> None:
    """Refuse a file, and a folder that holds anything other than the given names."""
    # A link that leads nowhere is no folder either.
    there = next((path for path in (place, *place.parents) if os.path.lexists(path)), place)
    if os.path.lexists(there) and not there.is_dir():
        raise TrainingError(f"the output must be a folder; {there} is a file. Name another.")
    if place.is_dir() and (others := {path.name for path in place.iterdir()} - ours):
        raise TrainingError(
            f"the output must be a new or empty folder, or one of the same kind; {place} has {min(others)} in it."
            " Name another."
        )


def _same(file: Path, identity: Mapping[str, Any], unknown: str | None) -> None:
    try:
        there, here = _flat(_identity(strict_json.read(file))), _flat(identity)
    except ValueError as error:
        raise TrainingError(
            f"{file} must say what the run is; it is damaged: {words_of(error)}. Name another output."
        ) from error
    for name in {**there, **here}:
        if there.get(name) != here.get(name) and name.rpartition(".")[2] != unknown:
            raise TrainingError(
                f"a run must continue as it began; the one in {file.parent} has {name} = {_brief(there.get(name))}, and"
                f" {_brief(here.get(name))} is asked for. Ask for the same, or name another output folder."
            )


FORMERLY = ("corpus", "tokens", "utf8_bytes")
"""What a text was called, and sizes that follow from its digests: they were once part of what a run is."""


def _identity(told: Any) -> Any:
    """What the run is, also in a folder from before names and sizes had a place of their own."""
    if not isinstance(told, Mapping):
        raise ValueError(f"it must be an object; got {told!r:.200}")
    if set(told) == {"identity", "about"}:
        return told["identity"]
    texts = told.get("text")
    if isinstance(texts, list) and all(isinstance(text, Mapping) for text in texts):
        return {**told, "text": [{key: text[key] for key in text if key not in FORMERLY} for text in texts]}
    return told


def _row(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict) or type(row.get("step")) is not int:
        raise ValueError(f"a line must be an object with a step, a whole number; got {row!r:.200}")
    return row


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Nested tables and lists as one, with names such as recipe.text.tokens and text.0.corpus."""
    if isinstance(value, list):
        value = {str(place): entry for place, entry in enumerate(value)} or "none"
    if not isinstance(value, Mapping):
        return {name: value}
    return {key: entry for inner in value for key, entry in _flat(value[inner], f"{name}.{inner}".strip(".")).items()}


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:120] + "…"
