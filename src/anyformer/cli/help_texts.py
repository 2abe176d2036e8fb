"""Help that shows what a user can type: no value after a flag, and one text for an option that may be repeated."""

from collections.abc import Iterator
from typing import Any

import typer


def with_plain_help(app: typer.Typer) -> Any:
    """The command of an app; Typer alone may show <bool> beside flags and <list[str]> beside repeated options."""
    command: Any = typer.main.get_command(app)
    for one in _commands(command):
        for option in (*one.params, one.get_help_option(typer.Context(one))):
            if option is not None and option.metavar is None:
                option.metavar = _value(option)
    return command


def _commands(command: Any) -> Iterator[Any]:
    yield command
    for one in getattr(command, "commands", {}).values():
        yield from _commands(one)


def _value(option: Any) -> str | None:
    """The placeholder for the value of an option: none for a flag, Typer's own for most others."""
    if getattr(option, "is_flag", False):
        return ""
    return "TEXT" if getattr(option, "multiple", False) else None
