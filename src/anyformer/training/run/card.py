"""The card of a trained model: what it is, what it was trained on, what was measured, how to load it.

Names of files and of classes may come from anyone, so they are shown as text: nothing in them becomes Markdown.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final

from anyformer.exports.huggingface.card import as_text
from anyformer.mixers.catalogue import CATALOGUE
from anyformer.mixers.fields import MIXER
from anyformer.mixers.registry import KIND
from anyformer.mixers.soundness import is_shipped

_TASKS: Final = {
    "ForMaskedLM": "fill-mask",
    "ForCausalLM": "text-generation",
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForQuestionAnswering": "question-answering",
}
"""What the hub calls the tasks of the heads."""
_TRAINING: Final = "learning_rate"
"""Rows of a training step have it; rows of an evaluation do not."""


def model_card(model: Any, longest: int, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The text of README.md.

    Args:
        model: a BERT of mixers.
        longest: how many tokens it takes.
        about: what the run was made from: names and numbers, in tables and lists.
        rows: what the run measured, in order.
    """
    parts = [
        _head(model),
        f"# {type(model).__name__}",
        "A BERT in which each layer has a token mixer where BERT has self-attention, trained with anyformer.",
        _table(_facts(model, longest)),
        "## Mixers\n\n" + _table(_mixers(model.config.layer_mixers), "layers", "mixer"),
        "## Trained on\n\n" + (_table(_flat(about)) or "It is not known."),
        "## Measured\n\n" + _measured(rows),
        _loading(model),
    ]
    return "\n\n".join(parts) + "\n"


def _head(model: Any) -> str:
    task = next((task for head, task in _TASKS.items() if type(model).__name__.endswith(head)), None)
    lines = ["library_name: transformers", *([f"pipeline_tag: {task}"] if task else []), "tags:", "- anyformer"]
    return "\n".join(["---", *lines, "---"])


def _facts(model: Any, longest: int) -> dict[str, Any]:
    config = model.config
    facts = {
        "parameters": model.num_parameters(),
        "layers": config.num_hidden_layers,
        "width": config.hidden_size,
        "norms": f"{config.norm} each residual sum" if config.norm == "after" else "before mixers and feed-forward",
        "longest sequence": f"{longest} tokens",
        "vocabulary": f"{config.vocab_size} tokens",
    }
    if type(model).__name__.endswith("Classification"):
        facts["classes"] = ", ".join(config.id2label[number] for number in sorted(config.id2label))
    return facts


def _mixers(mixers: Sequence[Any]) -> dict[str, Any]:
    """Layers that follow each other and have the same mixer, on one line; counted from 1, at the input."""
    lines, layer = {}, 1
    for mixer, same in groupby(mixers):
        last = layer + len(list(same)) - 1
        lines[f"{layer} to {last}" if last > layer else f"{layer}"] = mixer
        layer = last + 1
    return lines


def _measured(rows: Sequence[Mapping[str, Any]]) -> str:
    """The last evaluation."""
    found = next((row for row in reversed(rows) if _TRAINING not in row), None)
    if found is None:
        return "Nothing was measured."
    measured = {name: "not finite" if value is None else f"{value:.6g}" for name, value in found.items()}
    step = measured.pop("step")
    return f"On what was held out, after {step} steps:\n\n{_table(measured)}"


def _flat(about: Any, name: str = "") -> dict[str, Any]:
    """Tables and lists as one table, without what nobody knows and without digests, which run.json has."""
    if isinstance(about, Mapping):
        entries: Iterator[tuple[str, Any]] = ((str(key), inner) for key, inner in about.items())
    elif isinstance(about, list | tuple):
        entries = ((str(place), inner) for place, inner in enumerate(about, 1))
    else:
        return {} if about is None or about == "" or "digest" in name else {name.replace("_", " "): _public(about)}
    return {key: value for part, inner in entries for key, value in _flat(inner, f"{name} {part}".strip()).items()}


def _public(value: Any) -> Any:
    """A value without the folders of an absolute path: cards are published, and nobody needs to know where one works.

    >>> _public("/home/me/mnli.tsv"), _public("glue:mnli"), _public(3)
    ('mnli.tsv', 'glue:mnli', 3)
    """
    is_path = isinstance(value, str) and (PurePosixPath(value).is_absolute() or PureWindowsPath(value).is_absolute())
    return PureWindowsPath(value).name if is_path else value


def _table(entries: Mapping[str, Any], left: str = "", right: str = "") -> str:
    if not entries:
        return ""
    lines = [f"| {as_text(name)} | {as_text(str(value))} |" for name, value in entries.items()]
    return "\n".join([f"| {left} | {right} |", "|---|---|", *lines])


def _brought(mixers: Sequence[Mapping[str, Any]] | None) -> list[str]:
    """The names of mixers that are not the package's own in what a config says."""
    names = {described[KIND] for described in _mixers_in([{MIXER: one} for one in mixers or ()])}
    return sorted(name for name in names if not is_shipped(CATALOGUE[name]))


def _mixers_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of mixers, also of those in fields of others."""
    if isinstance(value, list):
        for one in value:
            yield from _mixers_in(one)
    elif isinstance(value, Mapping) and set(value) == {MIXER}:
        yield value[MIXER]
        yield from _mixers_in(list(value[MIXER].values()))


def _to_register(names: Sequence[str]) -> tuple[str, str]:
    """What to do before a model with such mixers can be loaded: as a sentence, and as a line of the example."""
    if not names:
        return "", ""
    listed = ", ".join(f"`{name}`" for name in names)
    sentence = (
        f"Mixers that anyformer does not have: {listed}. Each must be registered first: import the file that calls"
        " `register_mixer` with its name, or install the package that announces it. Otherwise loading ends in an error."
        "\n\n"
    )
    return sentence, f"# import the_file_that_registers_it  # first: {', '.join(names)}; its code is not here\n"


def _loading(model: Any) -> str:
    sentence, line = _to_register(_brought(model.config.mixers))
    head = next((head for head in _TASKS if type(model).__name__.endswith(head)), "")
    auto = f"AutoModel{head}" if head else "AutoModel"
    return f"""## How to load it

{sentence}```python
import anyformer.mixers  # pip install "anyformer[bert]"; no code comes from this folder
{line}from transformers import {auto}, AutoTokenizer

model = {auto}.from_pretrained("path/to/this/folder")
tokenizer = AutoTokenizer.from_pretrained("path/to/this/folder")
inputs = tokenizer("A text.", truncation=True, return_tensors="pt")
outputs = model(**inputs)
```"""
