"""A verification, as data and as text: the verdict first, then the derived values beside the stated ones."""

import math
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from anyformer.certificates.bounds.powers import exponent_data
from anyformer.certificates.checker import Verdict, Verification
from anyformer.certificates.claims.certificate import Certificate, assumptions
from anyformer.reports.terminal import error_size, facts, heading, numbers, table

STYLES = {Verdict.PROVED: "bold green", Verdict.REFUTED: "bold red", Verdict.UNDECIDED: "bold yellow"}


def verification_data(result: Verification, certificate: Certificate) -> dict[str, Any]:
    """The verification as a JSON object."""
    bound = result.bound
    derived = None
    if bound is not None:
        derived = {
            "certified_error": bound.upper,
            "lower": bound.lower,
            "cells": bound.cells,
            "terms": dict(bound.terms),
        }
    measured = certificate.measured
    return {
        "verdict": result.verdict.name.lower(),
        "proved": result.verdict is Verdict.PROVED,
        "meaning": result.verdict.value,
        "reason": result.reason,
        "target": certificate.target.name,
        "p": exponent_data(certificate.p),
        "epsilon": certificate.tolerance,
        "kind": certificate.kind.value,
        "claim": result.claim.to_json(),
        "derived": derived,
        "stated": {"certified_error": certificate.certified_error, "terms": dict(certificate.terms)},
        "measured_error": measured.error,
        "measured_interval": [measured.low, measured.high],
        "witness": None if result.witness is None else result.witness.tolist(),
        "assumptions": assumptions(certificate.kind, result.claim.dtype),
    }


def verification_view(result: Verification, certificate: Certificate) -> RenderableType:
    """The verification as text."""
    name, _, meaning = result.verdict.value.partition(":")
    return Group(
        Text(name.upper(), style=f"{STYLES[result.verdict]} reverse").append(f":{meaning}", style="not reverse"),
        facts(
            [
                ("reason", result.reason),
                *([] if _is_anew(result, certificate) else [("measured", _measured(certificate))]),
                *_witness(result),
            ]
        ),
        heading("What the verdict is about:"),
        facts(list(result.claim.facts().items())),
        _terms(result, certificate),
        heading(f"What it relies on ({certificate.kind.value}):"),
        facts([("-", one) for one in assumptions(certificate.kind, result.claim.dtype)]),
    )


def _is_anew(result: Verification, certificate: Certificate) -> bool:
    """Whether the verdict is about the weights in another type than the certificate's."""
    return result.claim.dtype != certificate.dtype


def _measured(certificate: Certificate) -> str:
    measured = certificate.measured
    if certificate.p == math.inf:
        return f"{error_size(measured.error)} at most on samples, as stated"
    return f"{error_size(measured.error)} ({error_size(measured.low)} to {error_size(measured.high)}), as stated"


def _witness(result: Verification) -> list[tuple[str, str]]:
    if result.witness is None:
        return []
    return [("witness", "it shows most at the input " + "; ".join(map(numbers, result.witness.tolist())))]


def _terms(result: Verification, certificate: Certificate) -> RenderableType:
    """Derived and stated values, one term per line; nothing was derived if the target broke its own declaration."""
    bound = result.bound
    stated = {**certificate.terms, "error": certificate.certified_error}
    rows = []
    for name, value in stated.items():
        value_now = None if bound is None else {**bound.terms, "error": bound.upper}.get(name)
        derived = "—" if value_now is None else error_size(value_now)
        rows.append((name.replace("_", " "), derived, error_size(value)))
    said = f"stated of {certificate.dtype}" if _is_anew(result, certificate) else "stated"
    return table(("term", "derived now", said), rows, right=("derived now", said))
