"""A benchmark as the folder that a competition takes, in VNN-LIB 2.0; inside it the same in the dialect of 1.0.

instances.csv, onnx/…, vnnlib/…               every line: ONNX file, VNN-LIB file, seconds
1.0/instances.csv, 1.0/onnx/…, 1.0/vnnlib/…
verdicts.json                                 what the answers are, and why
"""

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

from anyformer import strict_json
from anyformer.atomic import atomic_folder
from anyformer.errors import ModelFileError, words_of
from anyformer.exports.proved import Proved
from anyformer.exports.vnnlib.benchmark import INSTANCES, Benchmark, to_vnnlib
from anyformer.exports.vnnlib.dialects import DIALECTS
from anyformer.targets.target import Target

FORMAT = "anyformer-verdicts-1"
VERDICTS, LIST, GRAPHS, PROPERTIES = "verdicts.json", "instances.csv", "onnx", "vnnlib"
OURS = {VERDICTS, LIST, GRAPHS, PROPERTIES, "1.0"}


def write(
    model: Proved,
    out: Path,
    *,
    seed: int = 0,
    instances: int = INSTANCES,
    fold_uniform: bool = False,
    target: Target | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a model as a benchmark folder, all or nothing.

    Takes what `to_vnnlib` takes, the folder, and whether a benchmark that is there may be replaced.

    Returns:
        The folder.
    """
    _check_place(Path(out), overwrite)
    made = to_vnnlib(model, seed=seed, instances=instances, fold_uniform=fold_uniform, target=target)
    return write_benchmark(made, out, overwrite)


def write_benchmark(made: Benchmark, out: Path, overwrite: bool = False) -> Path:
    """Write a benchmark that has been made."""
    out = Path(out)
    _check_place(out, overwrite)
    try:
        with atomic_folder(out.absolute()) as part:
            for name, content in files(made).items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                (part / name).write_bytes(content)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"could not write {out}: {words_of(error)}. Fix the cause and export again.") from error
    return out


def files(made: Benchmark) -> dict[str, bytes]:
    """Every file by its path in the folder."""
    graph = made.graph.SerializeToString(deterministic=True)
    names = [f"{PROPERTIES}/{made.name}_{made.seed}_{number:03d}.vnnlib" for number in range(len(made.instances))]
    graph_name = f"{GRAPHS}/{made.name}.onnx"
    found: dict[str, bytes] = {}
    for place, text in DIALECTS.items():
        found[f"{place}{graph_name}"] = graph
        for name, one in zip(names, made.instances, strict=True):
            found[f"{place}{name}"] = text(one.asked, made.dtype).encode("ascii")
        found[f"{place}{LIST}"] = _list(made, graph_name, names)
    found[VERDICTS] = _verdicts(made, graph, graph_name, names)
    return found


def _list(made: Benchmark, graph: str, names: list[str]) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerows([graph, name, one.timeout] for name, one in zip(names, made.instances, strict=True))
    return text.getvalue().encode("ascii")


def _verdicts(made: Benchmark, graph: bytes, graph_name: str, names: list[str]) -> bytes:
    data: dict[str, Any] = {
        "format": FORMAT,
        "seed": made.seed,
        "onnx": graph_name,
        "onnx_sha256": hashlib.sha256(graph).hexdigest(),
        "model": dict(made.model),
        "instances": [{"vnnlib": name, **one.to_json()} for name, one in zip(names, made.instances, strict=True)],
    }
    return (json.dumps(data, indent=1, allow_nan=False) + "\n").encode("ascii")


def _check_place(out: Path, overwrite: bool) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ModelFileError(f"{out} must be a folder or not exist; it is something else. Choose another place.")
    if not out.exists() or not any(out.iterdir()):
        return
    if not _is_ours(out):
        raise ModelFileError(
            f"{out} must be a new or empty folder, or a benchmark to overwrite; it holds something else. "
            f"Nothing was changed. Choose another folder, or empty this one yourself."
        )
    if not overwrite:
        raise ModelFileError(
            f"{out} must be a new or empty folder; it holds a benchmark. Pass overwrite to replace it."
        )


def _is_ours(out: Path) -> bool:
    """Whether the folder holds a benchmark of ours and nothing else."""
    if {path.name for path in out.iterdir()} - OURS:
        return False
    place = out / VERDICTS
    if not place.is_file() or place.stat().st_size > strict_json.MAX_BYTES:
        return False
    try:
        data = strict_json.loads(place.read_text(encoding="ascii"))
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("format") == FORMAT
