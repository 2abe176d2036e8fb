"""Packages that only some parts need: imported when they are needed, and named with the command that installs them."""

import importlib
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
