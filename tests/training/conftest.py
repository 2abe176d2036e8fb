"""The command line in processes of their own."""

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    """How a command ended, and all that it wrote to stdout and stderr."""

    code: int
    told: str


@pytest.fixture(scope="session")
def forking(tmp_path_factory):
    """The program that forks; what Hugging Face keeps goes to a place of its own."""
    command = [sys.executable, "-m", "tests.training.forking"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    home = {**os.environ, "HF_HOME": str(tmp_path_factory.mktemp("hugging-face"))}
    with subprocess.Popen(command, cwd=ROOT, env=home, **pipes) as program:
        yield program
        program.stdin.close()


@pytest.fixture(scope="session")
def process(forking):
    """Call the command line in a process that gets these answers and may make files of at most so many bytes."""

    def with_arguments(*arguments, answers="", most=resource.RLIM_INFINITY):
        asked = {"arguments": [str(argument) for argument in arguments], "answers": answers, "most": most}
        forking.stdin.write(json.dumps(asked) + "\n")
        forking.stdin.flush()
        answer = forking.stdout.readline()
        assert answer, "the program that forks has ended"
        return Done(*json.loads(answer))

    return with_arguments
