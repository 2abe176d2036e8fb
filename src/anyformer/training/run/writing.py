"""Writing what a run must not lose: a full disk gives a clear error, and the earlier files stay."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyformer.errors import TrainingError
from anyformer.saved_folders import in_a_line


@contextmanager
def writing(what: str, place: Path) -> Iterator[None]:
    """Wrap the code in which libraries write a folder, which appears whole or not at all.

    Raises:
        TrainingError: for whatever they raise: each has its own kind for a full disk, and some have a bare Exception.
    """
    try:
        yield
    except TrainingError:
        raise
    except Exception as error:
        raise TrainingError(
            f"{what} must be written whole; {place} could not be: {in_a_line(error)}. What was saved before is as it"
            " was. Make room, or fix the cause, and start again with the same options: the run resumes from there."
        ) from error
