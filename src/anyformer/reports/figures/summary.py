"""The short text of a report: what is claimed, whether it was proved just now, what is trusted, how to check it."""

import math
from collections.abc import Sequence

from anyformer.certificates.checker import Verdict
from anyformer.reports.figures.markdown import prose, table, text
from anyformer.reports.figures.numbers import about, at_most, norm
from anyformer.reports.figures.subject import LeftOut, Plate, Subject
from anyformer.reports.terminal import count, number
from anyformer.targets.domains import CompactSupport

EMBEDDABLE = ("svg", "png")


def summary(subject: Subject, plates: Sequence[Plate], left_out: Sequence[LeftOut], formats: Sequence[str]) -> str:
    """The whole of report.md."""
    parts = [
        f"# {text(subject.certificate.target.name)} as a Transformer\n",
        f"{in_words(subject)}\n",
        _sizes(subject),
        *(_shown(plate, number, formats) for number, plate in enumerate(plates, start=1)),
        "## What is trusted\n",
        "".join(f"- {prose(one)}\n" for one in subject.certificate.assumptions),
        "## How to verify it\n",
        _how(subject),
    ]
    if left_out:
        parts += ["## Left out\n", "".join(f"- {prose(one.title)}: {prose(one.reason)}.\n" for one in left_out)]
    return "\n".join(parts)


def in_words(subject: Subject) -> str:
    """The certificate as a paragraph, and whether it was proved for this report."""
    return f"{_claim(subject)} {_standing(subject)} {_measured(subject)}"


def _claim(subject: Subject) -> str:
    certificate, network = subject.certificate, subject.network
    name, bound = text(certificate.target.name), at_most(certificate.certified_error)
    what = f"sequences of {count(network.tokens)} tokens of {_width(network.width)}"
    if certificate.p == math.inf:
        says = f"no entry of the output is off by more than {bound}, for any input {_where(subject)}"
    else:
        size = f"the {prose(norm(certificate.p))} norm of the error"
        says = f"{size}, over every input {_where(subject)}, is at most {bound}"
    return (
        f"A Transformer of {count(network.layer_count)} layers computes **{name}** on {what}. Its weights are "
        f"explicit; nothing was trained. **Its certificate says: {says}** (asked for: {number(certificate.tolerance)})."
    )


def _width(width: int) -> str:
    return "one number" if width == 1 else f"{count(width)} numbers"


def _where(subject: Subject) -> str:
    width, domain = subject.network.width, subject.certificate.target.domain
    if isinstance(domain, CompactSupport):
        return "at all (the function is 0 outside its support)"
    ends = list(dict.fromkeys(zip(domain.lows(width).tolist(), domain.highs(width).tolist(), strict=True)))
    shown = " × ".join(f"\\[{number(low)}, {number(high)}\\]" for low, high in ends[:3])
    each = "every number in" if len(ends) == 1 else "tokens in"
    return f"with {each} {shown}{' × …' if len(ends) > 3 else ''}"


def _standing(subject: Subject) -> str:
    found = subject.verification
    if found is None:
        return (
            "This was *not* proved for this report, because the function is not known here: it is what the file says."
        )
    match found.verdict:
        case Verdict.PROVED:
            return (
                "**Proved**: the checker derived this bound again, from the weights and the function, for this report."
            )
        case Verdict.REFUTED:
            return f"**Refuted**: the checker found it false ({prose(found.reason)})."
        case Verdict.UNDECIDED:
            return f"**Undecided**: the checker could not derive it ({prose(found.reason)}). Do not rely on it."


def _measured(subject: Subject) -> str:
    measured = subject.certificate.measured
    return f"Measured on {count(measured.samples)} samples, as stated, the error is {about(measured.error)}."


def _sizes(subject: Subject) -> str:
    network, certificate = subject.network, subject.certificate
    shape = network.shape
    rows = [
        ("what", "value"),
        ("method", text(certificate.construction.get("method", "not stated"))),
        ("layers", f"{count(network.layer_count)}, of which {count(network.attention_layer_count)} attention"),
        ("largest layer", f"{count(shape.heads)} heads of size {count(shape.head_size)}, "
                          f"{count(shape.hidden_size)} hidden units"),
        ("stream", f"{_width(network.stream_width)} a token"),
        ("hidden units", f"{count(network.hidden_unit_count)} in all"),
        ("parameters", count(network.parameter_count)),
        ("positions", "no" if network.positional_encoding is None else "yes"),
        ("attention", "dense" if network.pattern is None else "sparse"),
        ("float type", network.dtype.name),
        ("certificate holds", text(certificate.kind.value)),
        ("weights (sha256)", text(certificate.weights_digest)),
    ]  # fmt: skip
    return table(rows)


def _shown(plate: Plate, number: int, formats: Sequence[str]) -> str:
    embedded = next((one for one in EMBEDDABLE if one in formats), None)
    links = " ".join(f"[{one.upper()}]({plate.name}.{one})" for one in formats)
    image = f"![{prose(plate.title)}]({plate.name}.{embedded})\n\n" if embedded else ""
    return f"## {prose(plate.title)}\n\n{image}*Figure {number}.* {prose(plate.caption)} {links}\n"


def _how(subject: Subject) -> str:
    own = not subject.certificate.target.is_ready_made
    option = " --target path/to/file.py:function" if own else ""
    named = "A model file never runs code: the function must be named again. " if own else ""
    return (
        f"{named}The checker trusts neither the certificate nor the builder; it exits with 0 only if it proves the "
        f"bound again from the weights:\n\n```bash\nanyformer verify DIR{option}\n```\n"
    )
