"""The command `anyformer`: its verbs, and the one place where errors become messages and exit codes."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from anyformer.cli.failures import CHECK_FAILED, INTERRUPTED, USAGE, ClickUsageError, report
from anyformer.cli.help_texts import with_plain_help
from anyformer.cli.plugins import MIXER_NAMES, mixer_names
from anyformer.cli.verbs import (
    comparing,
    contexts,
    evaluating,
    exploring,
    exporting,
    models,
    parity,
    patterns,
    planning,
    reporting,
    reproducing,
    training,
    zoo,
)
from anyformer.errors import AnyformerError

app = typer.Typer(
    name="anyformer",
    help="Any continuous sequence function as a Transformer, with a proof of its error. No training.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
for verb in (
    *(planning.targets, planning.plan, planning.build, comparing.compare, comparing.curve),
    *(models.verify, models.run, models.describe, models.trace, parity.parity),
    *(exporting.export, exploring.explore, reporting.report, contexts.context),
    *(training.pretrain, training.finetune, evaluating.evaluate, evaluating.predict),
):
    app.command(verb.__name__)(verb)
app.add_typer(patterns.app, name="pattern")
app.add_typer(reproducing.app, name="reproduce")
app.add_typer(zoo.app, name="zoo")


def _command() -> Any:
    return with_plain_help(app, {MIXER_NAMES: mixer_names})


def _show_version(wanted: bool) -> None:
    if wanted:
        from anyformer import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Any continuous sequence function as a Transformer, with a proof of its error. No training."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        arguments: those of the process unless given.

    Returns:
        0 if all went well, 1 if a check failed, 2 for usage and bad input, 130 if interrupted.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        _command()(args=["--help"], prog_name="anyformer", standalone_mode=False)
        return USAGE
    as_json = "--json" in given
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show ≤ must not end a proof
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _command()(args=given, prog_name="anyformer", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        return _stop_writing()
    except (AnyformerError, ClickUsageError, OSError, OverflowError, MemoryError) as error:
        code = report(error, as_json)
        return code if _can_be_written() else _stop_writing(code)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    if code == INTERRUPTED:
        return report(KeyboardInterrupt(), as_json)
    return code if isinstance(code, int) else 0


def _can_be_written() -> bool:
    """Whether the remaining output can be written to stdout; not if it is a file on a full disk."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _stop_writing(code: int = CHECK_FAILED) -> int:
    """The reader has closed the pipe, as `| head` does: print nothing more, and leave nothing to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


if __name__ == "__main__":
    sys.exit(main())
