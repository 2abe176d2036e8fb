"""Putting a model folder in its place, all or nothing.

The files are written and synced in a sibling folder, which then changes names with the old one. A process killed at any
moment leaves the old model or the new one, and perhaps a sibling whose name says that it is no model; the next save
removes it. Where names cannot be exchanged in one step, the old model may be that sibling, whole.
Nothing is ever removed from a folder that holds anything but a model's files.

This does more than `atomic_folder`. Several processes may save to one folder at once, so each writes to its own sibling
and holds it. And the user chose the folder, so files that are not a model's are neither replaced nor removed.
"""

import os
import secrets
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from anyformer.atomic import exchange, held, sync
from anyformer.errors import ModelFileError
from anyformer.exports.config import has_our_format
from anyformer.exports.layout import CONFIG, FILES, PARTIAL
from anyformer.strict_json import MAX_BYTES


def place(folder: Path, files: Mapping[str, bytes], overwrite: bool) -> None:
    """Make `folder` hold exactly these files, written in this order."""
    _check_place(folder, overwrite)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Make room for the new model; but a finished leftover may be the only copy of a model until the new one is in
    # place.
    _remove_leftovers(folder, finished=False)
    with ExitStack() as stack:
        partial = _new_partial(folder, stack)
        _write(partial, files)
        _move_in(partial, folder, overwrite)
        sync(folder.parent)
    _remove_leftovers(folder, finished=True)


def leftovers(folder: Path) -> list[Path]:
    """Sibling folders that earlier saves left, or that other saves are still writing."""
    start = _partial_prefix(folder)
    named = [path for path in folder.parent.iterdir() if path.name.startswith(start)]
    return sorted(path for path in named if path.is_dir() and not path.is_symlink())


def _check_place(folder: Path, overwrite: bool) -> bool:
    """Whether one of our models is there to be replaced; anything else is refused."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        kind = "a symbolic link" if folder.is_symlink() else "a file"
        raise ModelFileError(f"{folder} must be a folder or not exist; it is {kind}. Choose another place.")
    if not folder.exists() or not os.listdir(folder):
        return False
    foreign = _foreign(folder)
    if foreign or not _has_our_config(folder):
        found = f"it also holds {_listed(foreign)}" if foreign else f"its {CONFIG} is missing or not ours"
        raise ModelFileError(
            f"{folder} must be a new or empty folder, or a model to overwrite; {found}. "
            f"Nothing was changed. Choose another folder, or empty this one yourself."
        )
    if not overwrite:
        raise ModelFileError(f"{folder} must be a new or empty folder; it holds a model. Pass overwrite to replace it.")
    return True


def _partial_prefix(folder: Path) -> str:
    return f".{folder.name}{PARTIAL}"


def _sibling(folder: Path) -> Path:
    return folder.with_name(_partial_prefix(folder) + secrets.token_hex(8))


def _new_partial(folder: Path, stack: ExitStack) -> Path:
    """A sibling to write in, held until the stack is closed, and then removed.

    After an exchange it is the model that was replaced; after an error, what was written of the new one.
    """
    while True:
        partial = _sibling(folder)
        partial.mkdir()
        stack.callback(_remove, partial)
        # Before it was held, another save may have taken it for a leftover.
        with suppress(FileNotFoundError):
            stack.enter_context(held(partial, wait=True))
            if partial.exists():
                return partial


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        with open(directory / name, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    sync(directory)


def _move_in(partial: Path, folder: Path, overwrite: bool) -> None:
    """Rename the new folder to `folder`; an old `folder` has the name of a partial folder afterwards."""
    if not _check_place(folder, overwrite):
        # Replaces only nothing or an empty folder: this fails if another process has put a model there meanwhile.
        os.rename(partial, folder)
    elif not exchange(partial, folder):
        _swap_in_steps(partial, folder)


def _swap_in_steps(partial: Path, folder: Path) -> None:
    aside = _sibling(folder)
    # Held, so that another save does not remove it as a leftover while it may still be moved back.
    with held(folder, wait=False):
        os.rename(folder, aside)
        try:
            os.rename(partial, folder)
        except BaseException:
            os.rename(aside, folder)
            raise


def _remove_leftovers(folder: Path, finished: bool) -> None:
    for path in leftovers(folder):
        if finished or not (path / CONFIG).exists():
            with suppress(FileNotFoundError, PermissionError), held(path, wait=False) as is_ours:
                if is_ours:
                    _remove(path)


def _remove(directory: Path) -> None:
    """Remove a folder that holds nothing but a model's files, as far as that is possible."""
    with suppress(OSError):
        if not _foreign(directory):
            for name in FILES:
                (directory / name).unlink(missing_ok=True)
            directory.rmdir()


def _foreign(directory: Path) -> list[str]:
    """The entries that are not a model's files."""
    with os.scandir(directory) as entries:
        return sorted(e.name for e in entries if e.name not in FILES or not e.is_file(follow_symlinks=False))


def _listed(names: list[str], most: int = 10) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def _has_our_config(folder: Path) -> bool:
    path = folder / CONFIG
    if not path.exists() or path.stat().st_size > MAX_BYTES:
        return False
    return has_our_format(path.read_bytes().decode(errors="replace"))
