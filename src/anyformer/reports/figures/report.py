"""A report of a model: figures and a short Markdown text, written to a folder all or nothing."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from anyformer.atomic import atomic_folder
from anyformer.certificates.bounds.effort import ORDINARY, Effort
from anyformer.certificates.bounds.powers import check_exponent
from anyformer.certificates.checker import Verification
from anyformer.errors import CertificateError, UsageError
from anyformer.model import Model
from anyformer.pictures import SUFFIXES, picture_bytes, require_matplotlib
from anyformer.reports.figures import (
    attention,
    budget,
    context_ids,
    dtypes,
    over_domain,
    program_graph,
    sizes,
    sparsity,
)
from anyformer.reports.figures.numbers import LARGEST
from anyformer.reports.figures.subject import LeftOut, Plate, Subject
from anyformer.reports.figures.summary import summary
from anyformer.targets.target import Target
from anyformer.workers import Progress, enter

FORMATS: Final = tuple(suffix[1:] for suffix in SUFFIXES)
TEXT: Final = "report.md"
# In the order in which a report shows them; a new figure is a file with `plates`, and a line here.
FIGURES: Final[tuple[Callable[[Subject], list[Plate | LeftOut]], ...]] = (
    over_domain.plates,
    budget.plates,
    program_graph.plates,
    context_ids.plates,
    attention.plates,
    sparsity.plates,
    sizes.plates,
    dtypes.plates,
)
# The names of all files that a report may have, without the suffix.
NAMES: Final = ("function", "map", "budget", "program", "context-ids", "attention", "pattern", "sizes", "types")


@dataclass(frozen=True, eq=False)
class Report:
    """What was written."""

    folder: Path
    plates: tuple[Plate, ...]
    left_out: tuple[LeftOut, ...]
    formats: tuple[str, ...]
    verification: Verification | None
    """None if nothing was checked, because the target is not known."""


def write_report(
    model: Model,
    folder: str | Path,
    target: Target | None = None,
    *,
    formats: Sequence[str] = ("svg", "png"),
    overwrite: bool = False,
    effort: Effort = ORDINARY,
    progress: Progress | None = None,
) -> Report:
    """Verify a model, and write figures of it and report.md to a folder, all or nothing (needs anyformer[plots]).

    Args:
        model: any certified model.
        folder: where to; new or empty, or with `overwrite` an earlier report.
        target: the function, if the model neither holds it nor names a ready-made one. Without it nothing is checked,
            and the figures that need it are left out; the report says so.
        formats: of "svg", "png" and "pdf".
        overwrite: replace an earlier report.
        effort: what checking may cost; the verdict is undecided if it is not enough.
        progress: called with (done, total) while it is checked.

    Returns:
        What was written, and what was left out and why.

    Example:
        >>> import tempfile
        >>> import anyformer as af
        >>> model = af.construct("mean-scale", 0.1, tokens=3, p=float("inf"))
        >>> report = write_report(model, tempfile.mkdtemp(), formats=["svg"])
        >>> [plate.name for plate in report.plates]
        ['function', 'map', 'budget', 'program', 'attention', 'sizes', 'types']
    """
    require_matplotlib()
    place, kinds = Path(folder), checked_formats(formats)
    check_place(place, overwrite)
    _check_numbers(model)
    function = _target_of(model, target)
    verification = None if function is None else model.verify(function, progress, effort)
    subject = Subject(model, function, verification)
    enter(progress, "drawing")
    made = [one for plates in FIGURES for one in plates(subject)]
    shown = tuple(one for one in made if isinstance(one, Plate))
    left_out = tuple(one for one in made if isinstance(one, LeftOut))
    files = {TEXT: summary(subject, shown, left_out, kinds).encode()}
    for plate in shown:
        assert plate.name in NAMES
        for kind in kinds:
            files[f"{plate.name}.{kind}"] = picture_bytes(
                plate.picture, kind, title=plate.title, description=plate.caption
            )
    check_place(place, overwrite)
    with atomic_folder(place) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)
    return Report(place, shown, left_out, kinds, verification)


def _check_numbers(model: Model) -> None:
    """A certificate that was read may state anything; what is drawn must be errors, and have room on an axis."""
    certificate = model.certificate
    check_exponent(certificate.p, takes_infinity=True)
    domain, width = certificate.target.domain, certificate.target.width
    stated = {
        "tolerance": certificate.tolerance,
        "certified_error": certificate.certified_error,
        "measured.error": certificate.measured.error,
        **{f"terms.{name}": value for name, value in certificate.terms.items()},
    }
    for name, value in stated.items():
        if not 0 <= value <= LARGEST or (name == "tolerance" and value < 1 / LARGEST):
            raise CertificateError(
                f"the certificate's field {name!r:.200} must be an error from 0 to {LARGEST:g}, and the tolerance "
                f"at least {1 / LARGEST:g}, to be drawn; got {value!r}. Build the model again."
            )
    if max(np.abs(domain.lows(width)).max(), np.abs(domain.highs(width)).max()) > LARGEST:
        raise CertificateError(f"the domain must lie within ±{LARGEST:g} to be drawn. Rescale the inputs.")


def checked_formats(formats: Sequence[str]) -> tuple[str, ...]:
    """The formats, each once; raises UsageError for others."""
    chosen = tuple(dict.fromkeys(one.strip().lower() for one in formats))
    if not chosen or not set(chosen) <= set(FORMATS):
        raise UsageError(
            f"the formats must be some of {', '.join(FORMATS)}; got {', '.join(map(repr, chosen)) or 'none'}. "
            f"Write svg,png."
        )
    return chosen


def check_place(folder: Path, overwrite: bool) -> None:
    """Refuse a place that holds anything but an earlier report; nothing of anybody else's is ever removed."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder} must be a folder or not exist; it is a file or a link. Choose another place.")
    held = set(os.listdir(folder)) if folder.is_dir() else set()
    foreign = sorted(held - {TEXT, *(f"{name}.{kind}" for name in NAMES for kind in FORMATS)})
    if foreign or (held and TEXT not in held):
        found = f"it also holds {', '.join(foreign[:10])}" if foreign else f"it has no {TEXT}"
        raise UsageError(
            f"{folder} must be a new or empty folder, or an earlier report to overwrite; {found}. Nothing was changed. "
            f"Choose another folder."
        )
    if held and not overwrite:
        raise UsageError(f"{folder} must be a new or empty folder; it holds a report. Pass overwrite to replace it.")


def _target_of(model: Model, target: Target | None) -> Target | None:
    """The function: given, held by the model, or ready-made. A user's own is not in a file."""
    known = target or model.target
    if known is None and model.certificate.target.is_ready_made:
        return model.certificate.target.target()
    return known
