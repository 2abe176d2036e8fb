"""Labels that are not quite a model's classes: two-way data for a three-way model, and the other way round."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self, final

from anyformer.errors import TrainingError

_NEGATED: Final = re.compile(r"(?:non|not)[-_ ](.+)")


@final
@dataclass(frozen=True)
class Coarsening:
    """What a model's classes and the data's labels both become, so that they can be compared.

    A model answers with its likeliest class, which is then mapped: probabilities are not added up, as HANS's authors do
    it.
    """

    classes: Mapping[str, str]
    labels: Mapping[str, str]

    @classmethod
    def between(cls, names: Sequence[str], labels: Iterable[str], asked: Mapping[str, str] | None = None) -> Self:
        """What makes a model's classes and the data's labels the same.

        A label that says "not X" (non-entailment, not_entailment), for a class X, takes all classes but X; a class that
        says so takes all labels but X.

        Args:
            names: the classes.
            labels: those of the data.
            asked: classes and labels with what they become, by the user.
        """
        found, asked = sorted(set(labels)), asked or {}
        for old in asked:
            if old not in names and old not in found:
                raise TrainingError(
                    f"what is mapped must be a class of the model ({', '.join(names)}) or a label of the data"
                    f" ({', '.join(found)}); got {old!r}."
                )
        classes = {name: asked.get(name, name) for name in names}
        become = {label: asked.get(label, label) for label in found}
        foreign = sorted(set(become.values()) - set(classes.values()))
        denying = next((label for label in foreign if negated(label) in classes.values()), None)
        if denying is not None:
            classes = {name: now if now == negated(denying) else denying for name, now in classes.items()}
        elif len(two := sorted(set(classes.values()))) == 2:
            for kept, now in (two, reversed(two)):
                if negated(now) == kept and kept in become.values():
                    become = {label: new if new == kept else now for label, new in become.items()}
        _require_common(classes, become)
        return cls(classes, become)

    @property
    def names(self) -> tuple[str, ...]:
        """The common classes, in the model's order."""
        return tuple(dict.fromkeys(self.classes.values()))

    @property
    def rule(self) -> str:
        """What is mapped, in words; "" if nothing is."""
        parts = (("the model's", self.classes), ("the data's", self.labels))
        changed = [(whose, [f"{old} as {new}" for old, new in part.items() if old != new]) for whose, part in parts]
        told = "; ".join(f"{whose} {', '.join(mapped)}" for whose, mapped in changed if mapped)
        return f"the likeliest class counts, and {told}" if told else ""


def negated(label: str) -> str | None:
    """What a label says it is not.

    >>> negated("non-entailment"), negated("not_entailment"), negated("neutral")
    ('entailment', 'entailment', None)
    """
    match = _NEGATED.fullmatch(label)
    return match[1] if match else None


def _require_common(classes: Mapping[str, str], labels: Mapping[str, str]) -> None:
    foreign = sorted(set(labels.values()) - set(classes.values()))
    if foreign:
        raise TrainingError(
            f"labels must be classes of the model, {', '.join(dict.fromkeys(classes.values()))}; the data has"
            f" {', '.join(foreign[:20])}. Say what they are by --map LABEL=CLASS or --map CLASS=LABEL."
        )
