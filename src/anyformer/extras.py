"""Packages that only some parts need: imported when they are needed, and named with the command that installs them."""

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from anyformer.errors import MissingPackageError, words_of


def require(module: str, extra: str, what: str) -> Any:
    """The module, imported.

    Args:
        module: what is imported, such as "matplotlib.figure".
        extra: which extra of anyformer installs it, such as "plots".
        what: what it is needed for, in the words of the message.

    Raises:
        MissingPackageError: if it cannot be imported; it is an ImportError too.
    """
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        package = (missing.name or module).partition(".")[0]  # the module may be there, but not a package it needs
        raise MissingPackageError(
            f"{package} must be installed for {what}; it cannot be imported ({words_of(missing)})."
            f' Install it: pip install "anyformer[{extra}]".',
            name=missing.name,
        ) from missing


def when_imported(module: str, then: Callable[[], None]) -> None:
    """Do something once a module is imported: now if it is there already, otherwise right after somebody imports it.

    So we can introduce ourselves to a package that takes long to import, and that may never be needed.
    """
    if sys.modules.get(module) is not None:
        then()
    else:
        sys.meta_path.insert(0, _Waiting(module, then))


class _Waiting(MetaPathFinder):
    """Finds one module where the other finders do, with a loader that does something after it."""

    def __init__(self, module: str, then: Callable[[], None]) -> None:
        self._module, self._then = module, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called for an import, and by those who only ask whether the module is installed."""
        if fullname != self._module:
            return None
        # Those before this one have been asked; several may wait for the same module.
        rest = sys.meta_path[sys.meta_path.index(self) + 1 :]
        specs = (finder.find_spec(fullname, path, target) for finder in rest)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Following(spec.loader, self._done)
        return spec

    def _done(self) -> None:
        sys.meta_path.remove(self)
        self._then()


class _Following(Loader):
    """A loader, and what is done after it has loaded."""

    def __init__(self, loader: Loader, then: Callable[[], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As the loader does; afterwards the module's loader is its own, which knows its source."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()
