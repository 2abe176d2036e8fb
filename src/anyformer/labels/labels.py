"""All labels of a network, as data and as the file labels.json."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from anyformer import strict_json
from anyformer.atomic import write_text
from anyformer.errors import LabelError
from anyformer.labels.label import Label, label_from_json
from anyformer.labels.place import KINDS, Place
from anyformer.labels.source import Source
from anyformer.labels.values import Values

FORMAT = "anyformer-labels-1"
FILE = "labels.json"
NAMES = ("format", "target", "tokens", "width", "stream_width", "weights_digest", "outputs", "labels")


@dataclass(frozen=True, eq=False)
class Labels:
    """What every stage, head, channel and hidden unit of a network computes. Made by `labels_of`.

    >>> import anyformer as af
    >>> from anyformer.labels import labels_of
    >>> labels = labels_of(af.construct("mean-scale", 0.1, tokens=3, p=float("inf")))
    >>> labels[0, 0, "head", 0].text
    'v1 = mean over tokens of x0'
    """

    target: str
    """The name of the target."""
    tokens: int
    width: int
    stream_width: int
    weights_digest: str
    """The digest of the network's weights: what the labels belong to."""
    entries: tuple[Label, ...]
    outputs: tuple[str, ...] = ()
    """The formula of every output coordinate, for a program."""
    source: Source | None = field(default=None, repr=False)
    """The network and what is known of it; None for labels that were read from a file."""

    def __iter__(self) -> Iterator[Label]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: tuple[int, int, str, int]) -> Label:
        """The label of one place: (stage, layer, kind, index).

        A label of a table may speak of many alike units; if the weights are at hand, this speaks of the place alone.
        """
        stage, layer, kind, index = place
        found = self._single.get(Place(*place)) or next(
            (label for label in self._of_many.get((stage, kind), ()) if label.covers(place)), None
        )
        if found is None:
            raise LabelError(
                f"{Place(stage, layer, kind, index)} must be a place of the network, with a kind of "
                f"{', '.join(KINDS)}; it has none there. `labels.of_kind({kind!r})` lists those that it has."
            )
        return found if self.source is None else self.source.single(found, Place(*place))

    @cached_property
    def _single(self) -> dict[tuple[int, int, str, int], Label]:
        """The labels of one place each."""
        return {label.first: label for label in self.entries if label.count == 1}

    @cached_property
    def _of_many(self) -> dict[tuple[int, str], list[Label]]:
        """The others, by stage and kind."""
        found: dict[tuple[int, str], list[Label]] = {}
        for label in self.entries:
            if label.count > 1:
                found.setdefault((label.stage, label.kind), []).append(label)
        return found

    def of_kind(self, kind: str, step: str | None = None) -> list[Label]:
        """All labels of a kind, of a step if one is given: `of_kind("unit", "square")`."""
        return [label for label in self.entries if label.kind == kind and step in (None, label.step)]

    def of_node(self, node: str) -> list[Label]:
        """All labels of a step of the program: its channel, and the head or the units that compute it."""
        return [label for label in self.entries if node in label.nodes]

    def values(self, x: ArrayLike) -> Values:
        """For sequences (batch, tokens, width), or one (tokens, width): the exact values beside the network's.

        The inputs are first rounded to the network's own type, as the network itself does.
        """
        if self.source is None:
            raise LabelError(
                "values need the network and its target; these labels were read from a file. Make them from the model: "
                "labels_of(model)."
            )
        return self.source.values(x)

    def to_json(self) -> dict[str, Any]:
        """A JSON object. Numbers are decimal and lose no bit."""
        return {
            "format": FORMAT,
            "target": self.target,
            "tokens": self.tokens,
            "width": self.width,
            "stream_width": self.stream_width,
            "weights_digest": self.weights_digest,
            "outputs": list(self.outputs),
            "labels": [label.to_json() for label in self.entries],
        }

    def save(self, path: str | Path) -> Path:
        """Write labels.json, all or nothing; a label a line."""
        data = self.to_json()
        lines = ",\n".join("    " + json.dumps(label, allow_nan=False) for label in data.pop("labels"))
        head = json.dumps(data, indent=2, allow_nan=False).removesuffix("\n}")
        write_text(Path(path), f'{head},\n  "labels": [\n{lines}\n  ]\n}}\n')
        return Path(path)


def read_labels(path: str | Path) -> Labels:
    """Read labels.json. The labels are what the file says: `labels_of(model)` reads them off the weights again."""
    try:
        return labels_from_json(strict_json.read(Path(path)))
    except ValueError as error:
        raise LabelError(f"{path} must be a file of labels: {error}") from error


def labels_from_json(data: Any) -> Labels:
    """Read what `to_json` gave; a fault is reported by the field it is in."""
    if not isinstance(data, dict) or set(data) != set(NAMES) or data["format"] != FORMAT:
        raise LabelError(
            f"labels must be a JSON object of the format {FORMAT!r} with the fields {', '.join(NAMES)}; "
            f"got {data!r:.200}"
        )
    for name in ("tokens", "width", "stream_width"):
        if type(data[name]) is not int or data[name] < 1:
            raise LabelError(f"the labels' {name} must be a whole number from 1 up; got {data[name]!r:.200}")
    for name in ("target", "weights_digest"):
        if not isinstance(data[name], str):
            raise LabelError(f"the labels' {name} must be a text; got {data[name]!r:.200}")
    if not isinstance(data["outputs"], list) or not all(isinstance(one, str) for one in data["outputs"]):
        raise LabelError(f"the labels' outputs must be a list of texts; got {data['outputs']!r:.200}")
    if not isinstance(data["labels"], list):
        raise LabelError(f"the labels' labels must be a list; got {data['labels']!r:.200}")
    return Labels(
        data["target"],
        data["tokens"],
        data["width"],
        data["stream_width"],
        data["weights_digest"],
        tuple(label_from_json(one, f"labels[{index}]") for index, one in enumerate(data["labels"])),
        tuple(data["outputs"]),
    )
