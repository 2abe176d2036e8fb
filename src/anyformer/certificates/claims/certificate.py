"""The certificate: what is claimed of a network, term by term, in a JSON file whose floats lose no bit."""

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer import strict_json
from anyformer.certificates.bounds.cells import Grid
from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.claims.declaration import Declaration
from anyformer.certificates.claims.measured import MeasuredError
from anyformer.certificates.programs.hints import Hint, hint_from_json
from anyformer.errors import CertificateError
from anyformer.networks.dtypes import DTYPES, FLOAT64, DType
from anyformer.notebooks import as_table
from anyformer.strict_json import float_from_hex, to_hex

FORMAT = "anyformer-certificate-1"
FIELDS = (
    "format",
    "kind",
    "claim",
    "target",
    "p",
    "tolerance",
    "certified_error",
    "terms",
    "measured",
    "weights_digest",
    "construction",
    "assumptions",
)
# What the proof starts from: a grid for a table, hints for a program, also the cells per axis for an interpolant.
GRID, HINTS, CELLS = "grid", "hints", "cells"
# Only there if it is not float64.
DTYPE = "dtype"
OF_TARGET = {
    Evidence.UNCONDITIONAL: (
        "The target is the real function that its NumPy formula states; it was bounded by running that on intervals. "
        "Outside a compact support it is 0, as declared; that is tested on samples, not proved.",
    ),
    Evidence.MODULUS: (
        "The target obeys its declared modulus of continuity and symmetry; both are tested on samples, not proved.",
        "The target's own float64 evaluation is off by at most evaluation_error times 1 + |f|.",
    ),
    Evidence.PROGRAM: (
        "The target is the real function that its NumPy formula states; the formula was traced into steps, which were "
        "compared with its values on samples.",
    ),
    Evidence.INTERPOLATED: (
        "The target is the real function that its NumPy formula states; it was bounded by tracing the formula into "
        "steps, which were compared with its values on samples, or by running it on intervals.",
    ),
    Evidence.INTERPOLATED_MODULUS: (
        "The target obeys its declared modulus of continuity and symmetry; both are tested on samples, not proved.",
        "The target's own float64 evaluation is off by at most evaluation_error times 1 + |f|.",
    ),
}


def assumptions(kind: Evidence, dtype: DType = FLOAT64) -> list[str]:
    """What a proof of this kind relies on: first of the target, then of the program that runs the network."""
    return [*OF_TARGET[kind], _of_steps(dtype) if kind.has_hints else _of_cells(dtype)]


def _of_cells(dtype: DType) -> str:
    others = "sparsemax and entmax are computed as by anyformer.networks.probability_maps"
    return (
        f"The bound holds for the network in real arithmetic, everywhere. On the cells (all of the domain but "
        f"rest_volume) it also holds for its {dtype} evaluation with the sums of layers in any order, if attention "
        f"rounds weighted values before it adds them, "
        + (
            f"if softmax's exp is {_exp(dtype)}, and if {others}."
            if dtype == FLOAT64
            else f"if softmax's exp is {_exp(dtype)}, and if numbers below the smallest normal one are kept."
        )
    )


def _of_steps(dtype: DType) -> str:
    runs = (
        f"with the sums of layers in any order, if attention rounds weighted values before it adds them and softmax's "
        f"exp is {_exp(dtype)}"
    )
    if dtype == FLOAT64:
        return (
            f"The bound holds for every input of the domain, for the network in real arithmetic and for its {dtype} "
            f"evaluation {runs}."
        )
    return (
        f"The bound holds for every input of the domain for the network in real arithmetic, and for every {dtype} "
        f"input of the domain for its {dtype} evaluation {runs}. Results below {dtype.underflow:.2g} may be anything "
        f"between 0 and that."
    )


def _exp(dtype: DType) -> str:
    return f"within 8 ulps, 1 at 0 and 0 below −{math.ceil(dtype.exp_underflow)}"


def _start_of(kind: Evidence) -> tuple[str, ...]:
    """The fields that a proof of this kind starts from."""
    if kind.is_interpolated:
        return HINTS, CELLS
    return (HINTS,) if kind.has_hints else (GRID,)


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """The claim d_p(f, g) <= certified_error <= tolerance about the network with this digest, and what is trusted."""

    kind: Evidence
    target: Declaration
    p: float
    tolerance: float
    certified_error: float
    terms: Mapping[str, float]
    weights_digest: str
    measured: MeasuredError
    construction: Mapping[str, Any]
    """How it was built, for readers. The checker takes only `tightness` from here, and a wrong one cannot fool it."""
    grid: Grid | None = None
    """The cells of a table; None for a compiled program and for an interpolant."""
    hints: tuple[Hint, ...] = ()
    """Which channel should be which step of a program. The checker trusts none of them."""
    cells: int | None = None
    """How many cells an axis of an interpolant has."""
    dtype: DType = FLOAT64
    """The type of the program that the claim is about, besides real arithmetic."""

    def __repr__(self) -> str:
        return (
            f"Certificate({self.target.name!r}, p={self.p}, certified_error={self.certified_error}, "
            f"tolerance={self.tolerance}, {self.kind.value}, weights_digest={self.weights_digest[:12]}…)"
        )

    @property
    def is_within_tolerance(self) -> bool:
        """Whether the error stated is at most the tolerance."""
        return self.certified_error <= self.tolerance

    @property
    def assumptions(self) -> list[str]:
        """What the proof relies on, in sentences."""
        return assumptions(self.kind, self.dtype)

    @property
    def claim(self) -> str:
        """The claim in a line."""
        return f"d_p(f, g) <= {self.certified_error:.6g} in L^{self.p:g}"

    def facts(self) -> dict[str, object]:
        """What is claimed, in few words."""
        return {
            "error at most": self.certified_error,
            "asked for": f"{self.tolerance:g} in L^{self.p:g}",
            "measured": self.measured.error,
            "holds": self.kind.value,
            **({} if self.dtype == FLOAT64 else {"program": self.dtype.name}),
        }

    def _repr_html_(self) -> str:
        digest = {"weights": f"{self.weights_digest[:12]}…"}
        return as_table(f"Certificate for {self.target.name}", {**self.facts(), **digest})

    def to_json(self) -> dict[str, Any]:
        """A JSON object; floats as hexadecimal strings."""
        return {
            "format": FORMAT,
            "kind": self.kind.value,
            "claim": self.claim,
            "target": self.target.to_json(),
            "p": to_hex(self.p),
            "tolerance": to_hex(self.tolerance),
            "certified_error": to_hex(self.certified_error),
            "terms": {name: to_hex(value) for name, value in self.terms.items()},
            "measured": {
                "error": to_hex(self.measured.error),
                "low": to_hex(self.measured.low),
                "high": to_hex(self.measured.high),
                "samples": self.measured.samples,
            },
            "weights_digest": self.weights_digest,
            "construction": dict(self.construction),
            "assumptions": self.assumptions,
            **({} if self.dtype == FLOAT64 else {DTYPE: self.dtype.name}),
            **self._start(),
        }

    def _start(self) -> dict[str, Any]:
        if self.grid is None:
            hints = {HINTS: [hint.to_json() for hint in self.hints]}
            return hints if self.cells is None else {**hints, CELLS: self.cells}
        ends = zip(self.grid.lows, self.grid.highs, strict=True)
        return {GRID: [{"low": to_hex(low.tolist()), "high": to_hex(high.tolist())} for low, high in ends]}


def certificate_from_json(text: str) -> Certificate:
    """Read a certificate; every fault is reported by the field it is in."""
    try:
        data = strict_json.loads(text)
    except ValueError as error:
        raise CertificateError(f"the certificate is not JSON: {error}") from error
    reader = _Reader(data)
    if reader.text("format") != FORMAT:
        raise CertificateError(f"the certificate's format must be {FORMAT!r}; got {reader.text('format')!r}")
    kind = _kind(reader.text("kind"))
    start = _start_of(kind)
    reader.check_names((*FIELDS, *start, *((DTYPE,) if DTYPE in reader.data else ())))
    terms, measured = reader.inner("terms"), reader.inner("measured")
    measured.check_names(("error", "low", "high", "samples"))
    read = Certificate(
        kind=kind,
        target=Declaration.from_json(reader.field("target", dict)),
        p=reader.exponent("p"),
        tolerance=reader.number("tolerance"),
        certified_error=reader.number("certified_error"),
        terms={name: terms.number(name) for name in terms.data},
        grid=_grid(reader.field(GRID, list)) if GRID in start else None,
        hints=_hints(reader.field(HINTS, list)) if HINTS in start else (),
        cells=_cells(reader) if CELLS in start else None,
        weights_digest=reader.text("weights_digest"),
        measured=MeasuredError(
            measured.number("error"), measured.number("low"), measured.number("high"), measured.field("samples", int)
        ),
        construction=reader.field("construction", dict),
        dtype=_dtype(reader.text(DTYPE)) if DTYPE in reader.data else FLOAT64,
    )
    _check_words(reader, read)
    return read


def _check_words(reader: "_Reader", certificate: Certificate) -> None:
    """The sentences must follow from the numbers and the kind; others would mislead readers."""
    for name, expected in (("claim", certificate.claim), ("assumptions", certificate.assumptions)):
        if reader.field(name, type(expected)) != expected:
            raise CertificateError(
                f"the certificate's field {name} must say what follows from its other fields: {expected!r}; it says "
                f"something else. Build the model again, or verify it with the version that wrote it."
            )


def _kind(text: str) -> Evidence:
    try:
        return Evidence(text)
    except ValueError:
        kinds = ", ".join(repr(kind.value) for kind in Evidence)
        raise CertificateError(f"the certificate's field kind must be one of {kinds}; got {text!r}") from None


def _dtype(text: str) -> DType:
    names = [name for name in DTYPES if name != FLOAT64.name]
    if text not in names:
        raise CertificateError(
            f"the certificate's field {DTYPE} must be one of {', '.join(map(repr, names))}, or not there for float64; "
            f"got {text!r:.200}"
        )
    return DTYPES[text]


def _grid(rows: list[Any]) -> Grid:
    ends = []
    for index, row in enumerate(rows):
        reader = _Reader(row, f"grid[{index}].")
        ends.append([np.array([reader.parse(v, side) for v in reader.field(side, list)]) for side in ("low", "high")])
    return Grid(tuple(low for low, _ in ends), tuple(high for _, high in ends))


def _cells(reader: "_Reader") -> int:
    cells = int(reader.field(CELLS, int))
    if cells < 1:
        raise CertificateError(f"the certificate's field {CELLS} must be a whole number from 1 up; got {cells}")
    return cells


def _hints(entries: list[Any]) -> tuple[Hint, ...]:
    return tuple(hint_from_json(entry, f"the certificate's hints[{index}]") for index, entry in enumerate(entries))


class _Reader:
    """Typed access to a JSON object that names the field at fault."""

    def __init__(self, data: object, path: str = "") -> None:
        if not isinstance(data, dict):
            raise CertificateError(f"the certificate's {path.rstrip('.') or 'top level'} must be a JSON object")
        self.data, self.path = data, path

    def field(self, name: str, kind: type) -> Any:
        value = self.data.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            got = "nothing" if name not in self.data else type(value).__name__
            raise CertificateError(f"the certificate's field {self.path}{name} must be a {kind.__name__}; got {got}")
        return value

    def check_names(self, known: tuple[str, ...]) -> None:
        # An unknown field cannot be checked, and may mislead readers.
        for name in self.data:
            if name not in known:
                raise CertificateError(
                    f"the certificate's field {self.path}{reprlib.repr(name)} must not be there, the fields are "
                    f"{', '.join(known)}. Remove it."
                )

    def text(self, name: str) -> str:
        return str(self.field(name, str))

    def inner(self, name: str) -> "_Reader":
        return _Reader(self.field(name, dict), f"{self.path}{name}.")

    def number(self, name: str) -> float:
        return self.parse(self.field(name, str), name)

    def exponent(self, name: str) -> float:
        """A finite number, or infinity for the sup norm."""
        return math.inf if self.data.get(name) == to_hex(math.inf) else self.number(name)

    def parse(self, value: object, name: str) -> float:
        try:
            number = float_from_hex(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise CertificateError(
                f"the certificate's field {self.path}{name} must be a finite float as float.hex() writes it; "
                f"got {value!r}"
            )
        return number
