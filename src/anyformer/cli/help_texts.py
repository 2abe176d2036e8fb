"""Help that shows what a user can type: no value after a flag, and one text for an option that may be repeated."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import typer

NOTHING: Mapping[str, Callable[[], str]] = MappingProxyType({})


def with_plain_help(app: typer.Typer, late: Mapping[str, Callable[[], str]] = NOTHING) -> Any:
    """The command of an app; Typer alone may show <bool> beside flags and <list[str]> beside repeated options.

    Args:
        app: the app.
        late: texts that are made when help is shown, for the words that stand for them.
    """
    command: Any = typer.main.get_command(app)
    for one in _commands(command):
        for option in (*one.params, one.get_help_option(typer.Context(one))):
            if option is not None and option.metavar is None:
                option.metavar = _value(option)
        one.format_help = _filling_in(one, late)
    return command


def _filling_in(command: Any, late: Mapping[str, Callable[[], str]]) -> Callable[..., None]:
    show = command.format_help

    def format_help(*given: Any) -> None:
        for option in command.params:
            for word, text in late.items():
                if word in (getattr(option, "help", None) or ""):
                    option.help = option.help.replace(word, text())
        show(*given)

    return format_help


def _commands(command: Any) -> Iterator[Any]:
    yield command
    for one in getattr(command, "commands", {}).values():
        yield from _commands(one)


def _value(option: Any) -> str | None:
    """The placeholder for the value of an option: none for a flag, Typer's own for most others."""
    if getattr(option, "is_flag", False):
        return ""
    return "TEXT" if getattr(option, "multiple", False) else None
