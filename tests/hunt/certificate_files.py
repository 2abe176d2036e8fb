"""Files of certificates with a value replaced."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

import anyformer as af
from anyformer.certificates import Verdict, verify
from anyformer.certificates.claims.certificate import certificate_from_json
from anyformer.errors import AnyformerError
from tests.hunt.claims import RULINGS
from tests.hunt.models import models
from tests.hunt.rulings import Outcome, Ruling


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
