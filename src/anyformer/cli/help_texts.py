"""Help in words that a user can type: a flag takes nothing after it, and what can be repeated takes one text a time."""

from collections.abc import Iterator
from typing import Any

import typer


def with_plain_help(app: typer.Typer) -> Any:
    """The command of an app; Typer by itself may show <bool> beside flags, and <list[str]> where one may repeat."""
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
    """What stands for the value of an option; nothing for a flag, and what Typer thinks best for others."""
    if getattr(option, "is_flag", False):
        return ""
    return "TEXT" if getattr(option, "multiple", False) else None
