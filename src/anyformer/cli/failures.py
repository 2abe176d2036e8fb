"""What goes wrong on the command line: one message, one exit code, never a traceback for a user's mistake."""

import contextlib
import json
import sys
from typing import Any

import typer

from anyformer.errors import CertificateError, Interrupted, PlanError, words_of
from anyformer.errors import UsageError as UsageError

CHECK_FAILED = 1
USAGE = 2
INTERRUPTED = 130

# Typer carries click inside or beside it, depending on its version; either way this is click's own UsageError.
ClickUsageError: type[Exception] = typer.BadParameter.mro()[1]


def report(error: BaseException, as_json: bool) -> int:
    """Say what went wrong, on stderr as text and with --json on stdout as well; return the exit code."""
    from anyformer.cli.output import speaks
    from anyformer.reports.terminal import visible

    if not speaks():
        return _exit_code(error)
    kind, message = _kind(error), _message(error)
    print("error: " + visible(message, keep=_line_feeds(error)), file=sys.stderr)
    if as_json:
        with contextlib.suppress(OSError):  # stdout itself may be what is full
            print(json.dumps({"error": {"kind": kind, "message": message}}), flush=True)
    return _exit_code(error)


def _line_feeds(error: BaseException) -> str:
    """Only these messages have several lines; elsewhere a line feed comes from a user's text and could fake a line."""
    return "\n" if isinstance(error, PlanError | ClickUsageError) else ""


def _kind(error: BaseException) -> str:
    return "UsageError" if isinstance(error, ClickUsageError) else type(error).__name__


def _message(error: BaseException) -> str:
    if isinstance(error, ClickUsageError):
        return _usage(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; nothing was written"
    if isinstance(error, OSError) and error.strerror:
        place = f": {error.filename}" if error.filename is not None else ""
        return f"the file system refused: {error.strerror}{place}"
    if isinstance(error, OverflowError | MemoryError):
        reason = error.args[-1] if error.args else "out of memory"
        return (
            f"the request must fit into float64 and into memory; it does not: {words_of(str(reason))}. "
            "Ask for fewer tokens, a smaller width, or an error that is neither tiny nor huge."
        )
    return str(error)


def _usage(error: Any) -> str:
    """What click says; a group of commands that is called without one has shown its help, and says nothing."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return f"{error.ctx.command_path} must be followed by one of {', '.join(error.ctx.command.commands)}."
    return str(error.format_message())


def _exit_code(error: BaseException) -> int:
    if isinstance(error, CertificateError):
        return CHECK_FAILED
    return INTERRUPTED if isinstance(error, KeyboardInterrupt | Interrupted) else USAGE
