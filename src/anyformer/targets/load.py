"""A user's own function, from a file or a module."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from anyformer.arrays import Array
from anyformer.catalogues import did_you_mean
from anyformer.errors import TargetError
from anyformer.user_code import Named

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
    return _attribute(spec, Named(spec, _FORM, TargetError).load(place), name)


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
