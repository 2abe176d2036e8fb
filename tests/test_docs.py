"""The pages that teach by example: every Python block runs, every command shown is run, and both print what they show.

Blocks of a page are taken in order, in one empty folder and with one set of Python names. ``console`` blocks hold
commands behind ``$`` and what they print; a block without a command goes on with the output of the one before.
``python`` blocks are sessions (``>>>``) or plain code; plain code that starts with ``# name.py`` is also that file.
In what is shown, ``…`` stands for any text on a line, and on a line of its own for any number of lines.
"""

import doctest
import io
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from anyformer.cli.main import main

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [
    *("start.md", "capacity.md", "averaging.md", "compile.md", "pytorch.md", "zoo.md", "explorer.md", "index.md"),
    "article/index.md",
    *(f"methods/{name}.md" for name in ("interpolation", "selective_shift", "sparse_averaging")),
    "methods/sparse_selective_shift.md",
    *(f"how_to/{name}.md" for name in ("command_line", "own_function", "limits", "float32", "parity", "zoo")),
    *(f"how_to/{name}.md" for name in ("sparse", "own_pattern", "own_method")),
]
# With what they need besides; importing it takes seconds.
PAGES_WITH_MORE = {
    "attention.md": "transformers",
    "stock.md": "torch",
    "interpretability.md": "transformer_lens",
    "how_to/export.md": "onnx",
    "how_to/hugging_face_mixers.md": "transformers",
    "how_to/pattern_exports.md": "torch",
    "how_to/language_model.md": "accelerate",
    "how_to/own_mixer.md": "transformers",
    "report.md": "matplotlib",
    "contextuality.md": "faiss",
}
# The example of the first downloads a model; the tests of evaluation run that of the second, on a trained one.
NOT_HERE = {"mixers.md", "how_to/evaluate.md"}
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# (\w+\.py)\n")
# The width that the pages were written for.
COLUMNS = "80"

Call = Callable[[str], str]


@dataclass(frozen=True)
class Command:
    """A command line and what the page shows of its output."""

    line: str
    shown: str


@dataclass(frozen=True)
class Code:
    """A Python block."""

    text: str


def steps(page: str) -> list[Command | Code]:
    """What a reader does who follows the page."""
    found: list[Command | Code] = []
    for language, text in FENCED.findall(page):
        if language == "python":
            found.append(Code(text))
        elif language == "console":
            before, *commands = re.split(r"^\$ ", text, flags=re.MULTILINE)
            if before.strip():
                last = max(k for k, step in enumerate(found) if isinstance(step, Command))
                found[last] = Command(found[last].line, found[last].shown + before)
            found += [Command(*command.split("\n", 1)) for command in commands]
    return found


def shows(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; blank lines do not count."""
    lines = [line.rstrip() for line in shown.splitlines() if line.strip()]
    patterns = [r"(?:.*\n)*?" if line == "…" else _pattern(line) + "\n" for line in lines]
    got = "".join(line.rstrip() + "\n" for line in printed.splitlines() if line.strip())
    return re.fullmatch("".join(patterns), got) is not None


def _pattern(line: str) -> str:
    """Blanks around … belong to it: what it stands for may be longer or shorter."""
    return ".*?".join(map(re.escape, re.split(" *… *", line)))


class Shown(doctest.OutputChecker):
    """Results of Python sessions are compared as the output of commands is."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return shows(want, got)


def run_code(code: Code, names: dict[str, object]) -> None:
    """Run a block, and raise if it fails or shows something else."""
    if not code.text.startswith(">>>"):
        if name := FILE_NAME.match(code.text):
            Path(name[1]).write_text(code.text)
        exec(compile(code.text, "<page>", "exec"), names)
        return
    session = doctest.DocTestParser().get_doctest(code.text, names, "page", None, 0)
    session.globs = names
    report: list[str] = []
    results = doctest.DocTestRunner(Shown(), verbose=False).run(session, out=report.append, clear_globs=False)
    assert results.failed == 0, "".join(report)


def follow(page: str, call: Call) -> None:
    """Do what the page says and compare."""
    names: dict[str, object] = {"__name__": "page"}
    for step in steps(page):
        if isinstance(step, Code):
            run_code(step, names)
            continue
        printed = call(step.line)
        assert shows(step.shown, printed), f"$ {step.line}\nprints today:\n{printed}\nThe page shows:\n{step.shown}"


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Run a command line of a page in this process, in an empty folder: anyformer, after `echo … |` if need be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", COLUMNS)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def line(text: str) -> str:
        *source, command = text.split(" | ")
        given = "".join(" ".join(shlex.split(echo)[1:]) + "\n" for echo in source)
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        program, *arguments = shlex.split(command)
        assert program == "anyformer", f"only anyformer is run here, not {program}"
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        assert code == 0, f"$ {text}\nended with {code}: {err}{out}"
        return out

    return line


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_happens(page, call):
    follow((DOCS / page).read_text(), call)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_WITH_MORE)
def test_a_page_that_needs_more_shows_what_happens(page, call, tmp_path, monkeypatch):
    pytest.importorskip(PAGES_WITH_MORE[page])
    monkeypatch.syspath_prepend(tmp_path)  # where the page's own files are
    follow((DOCS / page).read_text(), call)


def test_the_pages_have_something_to_run():
    counts = {page: len(steps((DOCS / page).read_text())) for page in PAGES}
    assert counts["start.md"] >= 15
    verbs = {step.line.split("anyformer ")[1].split()[0] for step in _commands("start.md")}
    assert verbs >= {"plan", "build", "trace", "verify", "run", "describe"}


def test_every_page_with_something_to_run_is_run():
    teaching = [*DOCS.glob("*.md"), *DOCS.glob("how_to/*.md"), *DOCS.glob("methods/*.md"), *DOCS.glob("article/*.md")]
    found = {page.relative_to(DOCS).as_posix() for page in teaching if steps(page.read_text())}
    assert found - NOT_HERE == {*PAGES, *PAGES_WITH_MORE}


def _commands(page: str) -> list[Command]:
    return [step for step in steps((DOCS / page).read_text()) if isinstance(step, Command)]


PLAN = "```console\n$ anyformer plan mean-scale --tokens 2 --epsilon 0.4 --method averaging\n"
TRUE_PLAN = PLAN + "mean-scale on 2 tokens of width 1, …\n…\n```\nAnd so on:\n```console\n  total    …  of 0.4\n```\n"
SESSION = "```python\n>>> import anyformer as af\n>>> af.targets.sort(tokens=2).tokens\n2\n```\n"
FILE = "```python\n# own.py\ndef half(x):\n    return x / 2\n```\n"
RUN = "```console\n$ echo '0.25,0.5' | anyformer run m -\n"
BUILD = "```console\n$ anyformer build own.py:half --tokens 2 --epsilon 0.4 --method averaging -o m\n…\n```\n"


@pytest.mark.parametrize("page", [TRUE_PLAN, SESSION, FILE + BUILD + RUN + "0.…,0.…\n```\n", "no blocks"], ids=range(4))
def test_a_true_page_passes(page, call):
    follow(page, call)


@pytest.mark.parametrize(
    "page",
    [
        TRUE_PLAN.replace("on 2 tokens", "on 3 tokens"),
        TRUE_PLAN.replace("of 0.4\n", "of 0.5\n"),
        TRUE_PLAN.replace("And so on:\n```console\n", "And so on:\n```console\nnever printed\n"),
        PLAN + "mean-scale on 2 tokens of width 1, …\n```\n",
        SESSION.replace("\n2\n", "\n3\n"),
        SESSION.replace("import anyformer as af", "import nowhere_at_all"),
        FILE + BUILD + RUN + "0.3,0.…\n```\n",
        "```console\n$ rm -r models\n```\n",
        "```console\n$ anyformer verify nowhere\n…\n```\n",
        "```python\nassert 1 + 1 == 3\n```\n",
    ],
    ids=range(10),
)
def test_a_false_page_is_seen(page, call):
    with pytest.raises(AssertionError):
        follow(page, call)


@pytest.mark.parametrize(
    ("shown", "printed", "agree"),
    [
        ("a …\n", "a bit\n", True),
        ("a …\n", "b bit\n", False),
        ("a     …  c\n", "a longer  c\n", True),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nb\nc\n", False),
        ("a\n", "a\n\n", True),
        ("a\n", "a\nb\n", False),
        ("1.5 …s\n", "1x5 s\n", False),
    ],
)
def test_what_counts_as_shown(shown, printed, agree):
    assert shows(shown, printed) is agree
