"""A Sphinx extension that reads our docstrings as what they are, plain text, and shows types as the source has them."""

import re
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# What reStructuredText would take for a substitution, a reference or emphasis.
SPECIAL = re.compile(r"\||(?<=\w)_(?!\w)|\*(?=\*)|(?<=\*)\*")


def as_text(lines: list[str]) -> list[str]:
    """Docstrings are plain text with `code` in single backticks; examples stay as they are.

    >>> as_text(["the mean of |f − g|^p, see `evaluate`", ">>> a | b"])
    ['the mean of \\\\|f − g\\\\|^p, see ``evaluate``', '>>> a | b']
    """
    return [line if line.lstrip().startswith((">>>", "...")) else _escaped(line) for line in lines]


def _escaped(line: str) -> str:
    parts = CODE.split(line)
    return "".join(f"``{part}``" if k % 2 else SPECIAL.sub(r"\\\g<0>", part) for k, part in enumerate(parts))


@cache
def _aliases() -> dict[str, str]:
    """NumPy's types, as Sphinx writes them out, and as they are written in the source."""
    from sphinx.util.typing import stringify_annotation

    names = {"ArrayLike": ArrayLike, "Array": NDArray[np.float64]}
    names |= {"Integers": NDArray[np.int64], "Booleans": NDArray[np.bool_]}
    return {stringify_annotation(kind, "smart"): name for name, kind in names.items()}


def _docstring(app, what, name, obj, options, lines):
    lines[:] = as_text(lines)


def _signature(app, what, name, obj, options, signature, returned):
    return tuple(part and _shortened(part) for part in (signature, returned))


def _shortened(signature: str) -> str:
    for long, short in _aliases().items():
        signature = signature.replace(long, short)
    return signature


def setup(app):
    """Register both."""
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True}
