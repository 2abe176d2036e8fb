"""Certificates whose fields were altered, about models that are what they were."""

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from flint import arb

import anyformer as af
from anyformer.certificates import Certificate, Evidence, Grid, Verdict, measure_error, verify
from anyformer.certificates.certificate import certificate_from_json
from anyformer.errors import AnyformerError
from anyformer.networks import Network
from anyformer.runtime import run
from anyformer.targets.target import Target
from tests.hunt.claims import RULINGS, judged
from tests.hunt.rulings import Outcome, Ruling


@cache
def models() -> list[af.Model]:
    """A few small models, built once."""
    return [
        af.construct(af.targets.mean_scale(tokens=2), 0.1, method="averaging"),
        af.construct(af.targets.sort(tokens=2), 0.3, method="averaging"),
        af.construct(af.targets.bump(tokens=2), 0.3, method="averaging"),
        af.construct(af.targets.mean_scale(tokens=2), 0.3, method="selective-shift"),
    ]


def measured(network: Network, target: Target, p: float) -> arb:
    """A ball from what samples show of the error, at its lower end with a twentieth to spare, upwards."""

    def outputs(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            # What overflowed is as wrong as can be.
            return np.nan_to_num(run(network, x), nan=1e6, posinf=1e6, neginf=-1e6)

    with np.errstate(all="ignore"):
        low = measure_error(outputs, target, p).low
    return arb(low * 0.95).union(arb(1e12))


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


@dataclass(frozen=True, eq=False)
class FileCase:
    """The text of a certificate in which some value was replaced."""

    description: str
    model: af.Model
    text: str

    def judge(self) -> Outcome:
        """Reading and verifying must say what is wrong, or be right."""
        try:
            certificate = certificate_from_json(self.text)
            result = verify(self.model.network, certificate)
        except AnyformerError as error:
            return Outcome(Ruling.REFUSED, str(error))
        if (
            result.verdict is Verdict.PROVED
            and certificate.certified_error < self.model.certificate.measured.low * 0.95
        ):
            return Outcome(Ruling.FALSE, f"{result.reason}, but samples show {self.model.certificate.measured}")
        return Outcome(RULINGS[result.verdict], result.reason)


def files(rng: np.random.Generator) -> FileCase:
    """One value somewhere in the file, replaced by something else."""
    model = models()[rng.integers(len(models()))]
    data = model.certificate.to_json()
    where = _somewhere(rng, data)
    values = [
        None,
        True,
        0,
        -1,
        2**70,
        1e400,
        "",
        "0x1p+2000",
        "nan",
        "inf",
        "-0x1p-1080",
        "0x1p-1074",
        [],
        {},
        "a" * 99,
    ]
    value = values[rng.integers(len(values))]
    holder: Any = data
    for key in where[:-1]:
        holder = holder[key]
    holder[where[-1]] = value
    return FileCase(f"{where} = {value!r}", model, json.dumps(data))


def _somewhere(rng: np.random.Generator, data: Any) -> list[Any]:
    keys = list(data) if isinstance(data, dict) else list(range(len(data)))
    key = keys[rng.integers(len(keys))]
    deeper = isinstance(data[key], dict | list) and len(data[key]) and rng.random() < 0.8
    return [key, *_somewhere(rng, data[key])] if deeper else [key]
