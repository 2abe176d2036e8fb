"""Files and folders that are replaced in one step or not at all: a reader finds the whole old one or the new one.

`atomic_file` and `atomic_folder` are for everything that has one writer at a time. A model folder may have several
writers, and users may keep other files there; `exports/placing.py` handles both with the functions at the end of this
file.
"""

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

# From <fcntl.h> and <linux/fs.h>.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Write a new file beside `path`; it replaces `path` once it is complete and synced to the disk."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step, in UTF-8."""
    with atomic_file(path) as file:
        file.write(text.encode())


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Fill a new folder beside `path`; it replaces `path` once it is complete and synced to the disk.

    Only one process may write at a time; what a killed process left is removed. If the disk cannot exchange two folders
    in one step, a kill between its two steps leaves no folder at all.
    """
    part = path.with_name(f".{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        for written in (*part.rglob("*"), part):
            sync(written)
        if path.exists() and not exchange(part, path):
            shutil.rmtree(path)
        if not path.exists():
            os.replace(part, path)
        sync(path.parent)
    finally:
        # After an exchange this is the old folder; after an error, removing it makes room on a full disk.
        shutil.rmtree(part, ignore_errors=True)


def sync(path: Path) -> None:
    """Write a file, or a folder's list of files, through to the disk, if the system and the disk support it.

    Without this, a new name may survive a power cut while its contents are lost.
    """
    if sys.platform != "win32":
        with _opened(path) as descriptor:
            try:
                os.fsync(descriptor)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step, or change nothing and return False: not every system and disk can."""
    if sys.platform != "linux":
        return False
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    renameat2.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return bool(renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)


@contextlib.contextmanager
def held(folder: Path, wait: bool) -> Iterator[bool]:
    """Mark a folder as in use until the block or the process ends, even if the folder is renamed.

    Yields whether that worked: False if another process holds it and `wait` is False, or if the disk has no locks.
    """
    if sys.platform == "win32":
        yield True
        return
    with _opened(folder) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_held = True
        except OSError:
            is_held = False
        yield is_held


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
