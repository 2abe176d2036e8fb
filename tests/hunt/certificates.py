"""Certificates whose fields were altered, about models that are what they were."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import anyformer as af
from anyformer.certificates import Certificate, Evidence, Grid
from anyformer.errors import AnyformerError
from tests.hunt.claims import judged
from tests.hunt.models import measured, models
from tests.hunt.rulings import Outcome, Ruling


@dataclass(frozen=True, eq=False)
class AlteredCase:
    """A network and a certificate that was tampered with."""

    description: str
    model: af.Model
    certificate: Certificate

    def judge(self) -> Outcome:
        """False if it is proved though samples show more, or though a term is stated below what holds."""
        network, honest, stated = self.model.network, self.model.certificate, self.certificate
        try:
            target = stated.target.target()
        except AnyformerError as error:
            return Outcome(Ruling.REFUSED, str(error))
        outcome = judged(network, stated, None, lambda: measured(network, target, stated.p))
        if outcome.ruling is Ruling.PROVED and stated.target.domain != target.domain:
            return Outcome(Ruling.FALSE, f"stated for {stated.target.domain}, proved for {target.domain}")
        same = (stated.p, stated.grid, stated.target, stated.kind) == (
            honest.p,
            honest.grid,
            honest.target,
            honest.kind,
        )
        tightness = stated.construction.get("tightness") == honest.construction["tightness"]
        low = [name for name, value in honest.terms.items() if not stated.terms.get(name, -1.0) >= value * 0.9]
        if outcome.ruling is Ruling.PROVED and same and tightness and low:
            return Outcome(Ruling.FALSE, f"proved, though the terms {low} are too small")
        return outcome


def altered(rng: np.random.Generator) -> AlteredCase:
    """One to three fields changed."""
    model = models()[rng.integers(len(models()))]
    certificate, what = model.certificate, []
    for _ in range(rng.integers(1, 4)):
        change = CHANGES[rng.integers(len(CHANGES))]
        certificate = change(rng, certificate)
        what.append(change.__name__.strip("_"))
    return AlteredCase(f"{model.certificate.target.name}: {', '.join(what)}", model, certificate)


def _tolerance(rng: np.random.Generator, c: Certificate) -> Certificate:
    tolerance = float(c.measured.low * rng.choice([0.1, 0.5, 0.9, 3.0]))
    return replace(c, tolerance=tolerance, certified_error=tolerance)


def _error(rng: np.random.Generator, c: Certificate) -> Certificate:
    return replace(c, certified_error=float(c.measured.low * rng.choice([0.0, 0.5, 0.9])))


def _terms(rng: np.random.Generator, c: Certificate) -> Certificate:
    name = str(rng.choice(list(c.terms)))
    factor = float(rng.choice([0.0, 0.5, 2.0, -1.0]))
    return replace(c, terms={**c.terms, name: c.terms[name] * factor})


def _larger_terms(rng: np.random.Generator, c: Certificate) -> Certificate:
    return replace(c, terms=dict.fromkeys(c.terms, 1e9), certified_error=c.tolerance)


def _order(rng: np.random.Generator, c: Certificate) -> Certificate:
    return replace(c, p=float(rng.choice([1.0, 1.5, 4.0, 100.0, 1e4])))


def _tightness(rng: np.random.Generator, c: Certificate) -> Certificate:
    tightness = [1.01, 1e9, float("inf"), float("nan"), -1.0, "1.5", None, 2, 1.0][rng.integers(9)]
    return replace(c, construction={**c.construction, "tightness": tightness})


def _kind(rng: np.random.Generator, c: Certificate) -> Certificate:
    return replace(c, kind=list(Evidence)[rng.integers(2)])


def _symmetry(rng: np.random.Generator, c: Certificate) -> Certificate:
    symmetries = list(af.targets.Symmetry)
    return replace(c, target=replace(c.target, symmetry=symmetries[rng.integers(2)]))


def _parameters(rng: np.random.Generator, c: Certificate) -> Certificate:
    parameters: dict[str, Any] = dict(c.target.parameters)
    if parameters and rng.random() < 0.7:
        parameters[str(rng.choice(list(parameters)))] = [0.0, 1e300, -1.0, float("nan"), 7][rng.integers(5)]
    else:
        parameters["nothing"] = 1.0
    return replace(c, target=replace(c.target, parameters=parameters))


def _name(rng: np.random.Generator, c: Certificate) -> Certificate:
    names = ["sort", "mean-scale", "bump", "softmax", "reverse", "no such target"]
    return replace(c, target=replace(c.target, name=str(rng.choice(names))))


def _sizes(rng: np.random.Generator, c: Certificate) -> Certificate:
    return replace(c, target=replace(c.target, tokens=int(rng.choice([0, 1, 3, 2])), width=int(rng.choice([1, 1, 2]))))


def _domain(rng: np.random.Generator, c: Certificate) -> Certificate:
    low, high = [(0.0, 2.0), (-1.0, 1.0), (0.0, 100.0), (0.5, 4.0)][rng.integers(4)]
    return replace(c, target=replace(c.target, domain=type(c.target.domain)(low, high)))


def _cells(rng: np.random.Generator, c: Certificate) -> Certificate:
    low, high = c.grid.lows[0], c.grid.highs[0]
    kept = np.flatnonzero(rng.random(len(low)) < rng.choice([0.1, 0.5, 0.9]))
    kept = kept if len(kept) else np.array([0])
    shift = float(rng.choice([0.0, 0.0, 2.0**-10, -(2.0**-10)]))
    return replace(c, grid=Grid((low[kept] + shift,), (high[kept] + shift,)))


CHANGES = [
    _tolerance,
    _error,
    _terms,
    _larger_terms,
    _order,
    _tightness,
    _kind,
    _symmetry,
    _parameters,
    _name,
    _sizes,
    _domain,
    _cells,
]
