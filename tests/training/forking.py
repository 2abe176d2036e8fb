"""Commands in processes of their own that need not import PyTorch again, which takes three seconds.

`python -m tests.training.forking` imports it once and then forks a child for every request, which is a line of JSON on
stdin: the arguments, what the child finds on its own stdin, and how large a file it may make. It answers with a line:
the exit code, and all that the child wrote to stdout and stderr. It is a program of its own, for it forks, and a test
runner with threads must not.
"""

import json
import os
import resource
import sys
import traceback

import anyformer.mixers.bert
import anyformer.training  # noqa: F401
from anyformer.cli.main import main

FAILED = 70


def obeyed(arguments: list[str], answers: str, most: int) -> tuple[int, str]:
    """The exit code of a command and what it wrote."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            talk_to(heard(answers), writer)
            # As on a disk that is full, Python and the libraries get an error.
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
            code = main(arguments)
        except BaseException:
            traceback.print_exc()
            code = FAILED
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)
    os.close(writer)
    with open(reader) as file:
        told = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), told


def heard(answers: str) -> int:
    """A pipe that holds these answers."""
    reader, writer = os.pipe()
    os.write(writer, answers.encode())
    os.close(writer)
    return reader


def talk_to(reader: int, writer: int) -> None:
    """Make these pipes this process's stdin, stdout and stderr, for Python and for libraries that know no Python."""
    os.dup2(reader, 0), os.dup2(writer, 1), os.dup2(writer, 2)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(k, mode) for k, mode in enumerate("rww"))


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(obeyed(**json.loads(line))), flush=True)
