"""A user's own function, from a file or a module."""

import contextlib
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from anyformer.arrays import Array
from anyformer.catalogues import did_you_mean
from anyformer.errors import TargetError, raised

_FORM = "Write path/to/file.py:function or package.module:function."
_MOST_LISTED = 20


def load_function(spec: str) -> Callable[[Array], Any]:
    """The function that `path/to/file.py:function` or `package.module:function` names.

    The file's folder, or the working directory for a module, is importable while the code is executed and not after;
    imports inside functions see the usual search path only.

    >>> load_function("numpy:sort").__name__
    'sort'
    """
    place, _, name = spec.rpartition(":")
    if not place or not name:
        raise TargetError(f"a function must be named with its place, as place:function; got {spec!r}. {_FORM}")
    is_file = place.endswith(".py") or "/" in place or os.sep in place
    module = _from_file(spec, Path(place)) if is_file else _from_module(spec, place)
    return _attribute(spec, module, name)


def _from_file(spec: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise TargetError(f"{spec!r} must name an existing Python file; there is none at {str(path)!r}. {_FORM}")
    path = path.resolve()
    # A private name: a file called numpy.py or json.py must not take the place of the real one.
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    private = f"_anyformer_target_{digest}"
    found = importlib.util.spec_from_file_location(private, path)
    if found is None or found.loader is None:
        raise TargetError(f"{spec!r} must name a Python file; {path.name!r} has no .py ending. Rename it.")
    module = importlib.util.module_from_spec(found)
    with _importable(path.parent), _blaming(spec):
        sys.modules[private] = module  # dataclasses look their own module up while it is being executed
        try:
            found.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(private, None)
            raise
    return module


def _from_module(spec: str, place: str) -> ModuleType:
    with _importable(Path.cwd()), _blaming(spec):
        return importlib.import_module(place)


@contextlib.contextmanager
def _importable(folder: Path) -> Iterator[None]:
    entry = str(folder)
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        # The code may have changed the path itself; only our own entry is removed.
        if entry in sys.path:
            sys.path.remove(entry)


@contextlib.contextmanager
def _blaming(spec: str) -> Iterator[None]:
    try:
        yield
    except (Exception, SystemExit) as error:  # a script that calls sys.exit() must not end this process
        raise TargetError(
            f"{spec!r} must be importable; importing it raised {raised(error)}. Fix the code, or name another. {_FORM}"
        ) from error


def _attribute(spec: str, module: ModuleType, name: str) -> Callable[[Array], Any]:
    if hasattr(module, name):
        found: object = getattr(module, name)
        if callable(found):
            return found
        raise TargetError(f"{spec!r} must name a function; {name!r} is a {type(found).__name__}. Name a callable.")
    callables = sorted(key for key, value in vars(module).items() if callable(value) and not key.startswith("_"))
    hint = did_you_mean(name, callables)
    listed = ", ".join(callables[:_MOST_LISTED]) or "none"
    more = ", …" if len(callables) > _MOST_LISTED else ""
    raise TargetError(f"{spec!r} must name a function that exists; the callables there are {listed}{more}.{hint}")
