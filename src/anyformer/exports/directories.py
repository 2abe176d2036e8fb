"""What the operating system does for directories: make them durable, swap them, mark them as in use."""

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl

# From <fcntl.h> and <linux/fs.h>.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def sync_directory(directory: Path) -> None:
    """Make the names in a directory survive a power cut, where the system and the disk have a call for it."""
    if sys.platform != "win32":
        with _opened(directory) as descriptor:
            try:
                os.fsync(descriptor)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise


def exchange(one: Path, other: Path) -> bool:
    """Swap two directories in one step, or change nothing and return False: not every system and disk can."""
    if sys.platform != "linux":
        return False
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    renameat2.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return bool(renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)


@contextlib.contextmanager
def held(directory: Path, wait: bool) -> Iterator[bool]:
    """Mark a directory as in use, under whatever name, until the block ends or the process does.

    Says whether that worked: not if another process holds it and we do not wait, nor on a disk that knows no locks.
    """
    if sys.platform == "win32":
        yield True
        return
    with _opened(directory) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_held = True
        except OSError:
            is_held = False
        yield is_held


@contextlib.contextmanager
def _opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
