"""Whether a change of the code left every weight and every certified error as it was.

Build every ready-made target by every method at two tolerances with the code before the change and after it, through
the command line and the files alone, which outlive the inside:

    PYTHONPATH=path/to/before/src python -m tests.same_bits write before.json
    python -m tests.same_bits write after.json
    python -m tests.same_bits compare before.json after.json

Tables of two machines may differ in the last bits of exp; tables of one machine must not differ at all.
"""

import contextlib
import hashlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from safetensors import safe_open

EQUIVARIANT = ("mean-scale", "softmax", "attention", "centre", "centroid-distance", "bump", "power-sums")
POSITIONAL = ("sort", "reverse", "running-maximum", "cumulative-mean", "moving-average", "copy-first")
SPARSE = {"sparse-averaging": "ring", "sparse-selective-shift": "sliding-window"}
# By tokens: two tolerances that most methods can do in seconds.
TOLERANCES = {2: (0.15, 0.4), 3: (0.3, 0.5)}
LIMITS = ("--max-layers", "60000", "--workers", "1")


def cases() -> Iterator[tuple[str, ...]]:
    """The options of every build."""
    for tokens, tolerances in TOLERANCES.items():
        for tolerance in tolerances:
            sizes = ("--tokens", str(tokens), "--epsilon", str(tolerance))
            for target in (*EQUIVARIANT, *POSITIONAL):
                positions = ("--positions",) if target in POSITIONAL else ()
                for method in ("averaging", "selective-shift"):
                    yield (target, *sizes, *positions, "--method", method)
                for method, pattern in SPARSE.items():
                    yield (target, *sizes, "--positions", "--method", method, "--pattern", pattern)
    yield ("mean-scale", "--tokens", "2", "--width", "2", "--epsilon", "0.3", "--method", "averaging")
    wide = ("--hidden-size", "12", "--p", "1", "--method", "averaging")
    yield ("softmax", "--tokens", "2", "--epsilon", "0.2", *wide)


def fingerprint(options: tuple[str, ...]) -> dict[str, object]:
    """The weights' digest, sizes and certified error of a build, or that it was refused."""
    from anyformer.cli.main import main

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = main(["build", *options, *LIMITS, "--output", str(folder)])
        if code != 0:
            return {"exit": code}
        certificate = json.loads((folder / "certificate.json").read_text())
        return {"weights": _weights(folder / "model.safetensors"), "certified": certificate["certified_error"]}


def _weights(file: Path) -> str:
    sha = hashlib.sha256()
    with safe_open(file, framework="numpy") as tensors:
        for name in sorted(tensors.keys()):
            array = tensors.get_tensor(name)
            sha.update(f"{name}{array.shape}".encode() + array.tobytes())
    return sha.hexdigest()


def write(place: Path) -> None:
    """Make a table; one that is there goes on where it ended."""
    table = json.loads(place.read_text()) if place.exists() else {}
    for options in cases():
        name = " ".join(options)
        if name not in table:
            table[name] = fingerprint(options)
            place.write_text(json.dumps(table, indent=1))
            print(name, table[name], flush=True)


def compare(before: Path, after: Path) -> int:
    """Say where two tables differ; 0 if nowhere."""
    first, second = json.loads(before.read_text()), json.loads(after.read_text())
    differing = [name for name in first | second if first.get(name) != second.get(name)]
    for name in differing:
        print(f"{name}\n  before: {first.get(name)}\n  after:  {second.get(name)}")
    print(f"{len(first)} and {len(second)} builds, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    verb, *files = sys.argv[1:]
    sys.exit(write(Path(files[0])) if verb == "write" else compare(*map(Path, files)))
