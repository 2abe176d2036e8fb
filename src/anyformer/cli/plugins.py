"""`--plugin`: a user's own code, imported before a verb looks for mixers by name; a model's folder never names any."""

from typing import Annotated, Final

import typer

from anyformer.errors import UsageError
from anyformer.user_code import Named

SHIPPED_MIXERS: Final = (
    *("attention", "average", "bilinear", "convolution", "fourier", "plain-convolution", "sparse-attention"),
)
"""As in the catalogue, which needs PyTorch."""
MIXER_NAMES: Final = "MIXER-NAMES"
"""Stands for `mixer_names()` in help texts."""
_FORM = "Write path/to/file.py or package.module."

Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="FILE.py|MODULE",
        help="A Python file or module that registers mixers of your own: it is run first. Repeatable.",
    ),
]


def load_plugins(plugins: list[str] | None) -> None:
    """Import what is named, in that order."""
    for plugin in plugins or ():
        Named(plugin, _FORM, UsageError).load(plugin)


def mixer_names() -> str:
    """The mixers that can be named without a plugin, for help texts: those of this package and of installed ones."""
    from anyformer.installed import MIXERS, announced

    return ", ".join((*SHIPPED_MIXERS, *(name for name in announced(MIXERS) if name not in SHIPPED_MIXERS)))
