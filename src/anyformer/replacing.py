"""Files and folders that are replaced in one step or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file beside `path` that takes its place when all went well."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield file
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def replacing_folder(place: Path) -> Iterator[Path]:
    """A new folder beside `place` that takes its place when all went well and the disk has kept it.

    One writer at a time: what a killed one left is removed.
    """
    part = place.with_name(f".{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        for written in (*part.iterdir(), part):
            flush(written)
        if place.exists():
            shutil.rmtree(place)
        os.replace(part, place)
        flush(place.parent)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)  # on a full disk, room for whatever is tried next
        raise


def flush(place: Path) -> None:
    """Have the disk keep a file or a folder's list of files, so that a rename is not there before its contents."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
