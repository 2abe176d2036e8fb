"""The command as a process of its own: entry point, terminals, pipes and signals."""

import json
import os
import pty
import re
import signal
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "anyformer.cli.main"]


def process(*arguments, **options):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, **options)


def on_a_terminal(*arguments, stdout=None):
    """A command's exit code, and what it writes to a terminal of 80 columns: stderr, and stdout if it has no other."""
    leader, follower = pty.openpty()
    variables = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    child = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=stdout or follower, stderr=follower, env=variables
    )
    os.close(follower)
    written = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:  # Linux: the terminal is gone with the last process on it
            break
        if not part:
            break
        written += part
    os.close(leader)
    return child.wait(), written.decode()


def test_help_lists_the_verbs():
    result = process("--help")
    assert result.returncode == 0
    assert result.stderr == ""
    for verb in ("targets", "plan", "build", "verify", "run", "describe", "trace"):
        assert verb in result.stdout


def test_help_does_not_load_what_only_proofs_need():
    script = "import sys, anyformer.cli.main; print('scipy' in sys.modules, 'rich.progress' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        ([], 2),
        (["bogus"], 2),
        (["plan", "softmax"], 2),
        (["targets"], 0),
        (["verify", "absent"], 2),
    ],
)
def test_exit_codes(arguments, code, tmp_path):
    result = process(*arguments, cwd=tmp_path)
    assert result.returncode == code
    assert "Traceback" not in result.stderr


def test_pipes_get_no_colours_and_no_progress(folders):
    result = process("verify", folders["mean-scale"])
    assert result.returncode == 0
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


def test_terminals_get_both(folders):
    code, written = on_a_terminal("verify", folders["mean-scale"])
    assert code == 0
    assert "proving" in written
    assert re.search(r"\x1b\[[0-9;]*mPROVED", written)
    code, written = on_a_terminal("describe", "absent")
    assert code == 2
    assert "error: absent must be a model's folder" in written


@pytest.mark.slow
def test_a_progress_bar_leaves_stdout_alone(folders, tmp_path):
    with open(tmp_path / "out.json", "wb") as out:
        code, written = on_a_terminal("verify", folders["mean-scale"], "--json", stdout=out)
    assert code == 0
    assert "proving" in written
    assert json.loads((tmp_path / "out.json").read_text())["proved"] is True


def test_terminals_without_unicode(folders):
    result = process(
        "trace", folders["mean-scale"], "--input", "0.1,0.9", env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert result.returncode == 0
    assert "\\xb7" in result.stdout


@pytest.mark.slow
def test_nobody_reads_on(folders, tmp_path):
    rows = tmp_path / "in.csv"
    rows.write_text("0.1,0.9\n" * 50_000)
    command = [*COMMAND, "run", str(folders["mean-scale"]), str(rows)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait() == 1


def test_interrupts_end_with_130_and_a_message(tmp_path):
    waiting = "import os, signal\ndef f(x):\n    os.kill(os.getpid(), signal.SIGINT)\n    return x\n"
    (tmp_path / "own.py").write_text(waiting)
    # A process started in the background may have been told to ignore interrupts.
    result = process(
        *("build", "own.py:f", "--lipschitz", "1", "--epsilon", "0.5", "-o", "model", "--json"),
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert result.returncode == 130
    assert result.stderr == "error: interrupted; nothing was written\n"
    assert json.loads(result.stdout)["error"]["kind"] == "KeyboardInterrupt"
    assert not (tmp_path / "model").exists()
