"""The same inputs through every runtime, in every type."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.bounds.powers import unit_for
from anyformer.certificates.checker import verify, verify_anew
from anyformer.errors import AnyformerError, MissingPackageError, NetworkError, words_of
from anyformer.model import Model
from anyformer.networks.dtypes import DTYPES, FLOAT64, DType, as_dtype
from anyformer.networks.evaluate import evaluate
from anyformer.networks.network import Network, cast
from anyformer.parity.inputs import RANDOM, Inputs, inputs_for
from anyformer.parity.rounding import rounding_bound
from anyformer.parity.rows import Outcome, Parity, Proof, Row
from anyformer.parity.runners import RUNNERS, Cast, Runner
from anyformer.targets.target import Target

# An estimate of a mean contradicts a bound if it is above it by so many of its standard errors.
DOUBT = 4.0


def parity(
    model: Model,
    target: Target | None = None,
    *,
    inputs: int = RANDOM,
    seed: int = 0,
    dtypes: Sequence[DType | str] = tuple(DTYPES),
    runners: Sequence[Runner] = RUNNERS,
    proofs: bool = True,
) -> Parity:
    """Compare NumPy, the engine, PyTorch, onnxruntime and JAX in every type they have.

    Args:
        model: whose certificate promises something.
        target: the function, if the model neither holds it nor names a ready-made one.
        inputs: how many random ones; corners and, for tables, centres of cells come on top.
        seed: of the random inputs.
        dtypes: which types, from the widest down.
        runners: which runtimes; one that is not installed has rows that say so.
        proofs: also ask the checker about every type; for a table about the model's own alone.

    Returns:
        A row for every runtime and type: how far its outputs are from those of the float64 definition and from the
        target, and whether what was seen agrees with the tolerance.

    Example:
        >>> import anyformer as af
        >>> found = af.parity(af.zoo.load("mean-scale-3"), runners=[], proofs=False)
        >>> found.holds
        True
    """
    function = target or model.target or model.certificate.target.target()
    asked = inputs_for(function, model.certificate, inputs, seed)
    kinds = [as_dtype(dtype) for dtype in dtypes]
    rows = [row for dtype in kinds for row in _rows(model, function, asked, dtype, runners)]
    certificate = model.certificate
    return Parity(
        certificate.target.name,
        certificate.p,
        certificate.tolerance,
        certificate.certified_error,
        model.network.dtype.name,
        len(asked.x),
        tuple(rows),
        tuple(_proofs(model, function, kinds)) if proofs else (),
    )


def _rows(model: Model, target: Target, asked: Inputs, dtype: DType, runners: Sequence[Runner]) -> Iterator[Row]:
    try:
        network = _in(model.network, dtype)
    except NetworkError as error:
        for runner in runners:
            yield Row(
                runner.name, dtype.name, Outcome.REFUSED, f"the weights do not fit: {words_of(error)}", holds=False
            )
        return
    x = asked.rounded(dtype, target)
    with np.errstate(all="ignore"):
        exact = evaluate(cast(model.network, FLOAT64), x)
        wanted = target(x)
        allowed = _allowed(model, network, x)
    for runner in runners:
        yield _row(runner, Cast(network, model.certificate), asked, x, exact, wanted, allowed)


def _allowed(model: Model, network: Network, x: Array) -> Array | None:
    """What roundings may add to the difference of a runtime and the definition; nothing is known of tables.

    In the model's own type both are also within the certified error of the target, if that is the largest of any entry.
    """
    certificate = model.certificate
    if certificate.grid is not None:
        return None
    allowed = rounding_bound(network, x)
    is_certified = network.dtype == model.network.dtype and certificate.p == math.inf
    return np.minimum(allowed, 2 * certificate.certified_error) if is_certified else allowed


def _in(network: Network, dtype: DType) -> Network:
    return network if dtype == network.dtype else cast(network, dtype)


def _row(
    runner: Runner, model: Cast, asked: Inputs, x: Array, exact: Array, wanted: Array, allowed: Array | None
) -> Row:
    dtype = model.network.dtype.name
    try:
        with np.errstate(all="ignore"):  # what overflows shows in the outputs
            outputs = runner.prepare(model)(x)
    except MissingPackageError as error:
        return Row(runner.name, dtype, Outcome.NOT_INSTALLED, words_of(error))
    except AnyformerError as error:
        return Row(runner.name, dtype, Outcome.REFUSED, words_of(error))
    apart, errors = _gaps(outputs, exact), _gaps(outputs, wanted)
    distance, surely = _distance(errors, asked, model)
    return Row(
        runner.name,
        dtype,
        Outcome.RAN,
        difference=float(apart.max()),
        difference_on_cells=float(apart[asked.is_centre].max()) if asked.centres else None,
        rounding=None if allowed is None else float(allowed.max()),
        is_within_rounding=None if allowed is None else bool((apart <= allowed).all()),
        error=float(errors.max()),
        distance=distance,
        holds=surely <= model.certificate.tolerance,
    )


def _gaps(a: Array, b: Array) -> Array:
    """|a − b|; infinite where one is no finite number."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf)


def _distance(errors: Array, asked: Inputs, model: Cast) -> tuple[float, float]:
    """The error in the certificate's norm, and what it surely is at least.

    The largest error is as it was seen. The L^p distance is estimated from the uniform inputs: the mean of Σ|error|^p
    times the volume of the domain.
    """
    certificate = model.certificate
    p, declared = certificate.p, certificate.target
    if p == math.inf:
        worst = float(errors.max())
        return worst, worst
    lows, highs = declared.domain.lows(declared.width), declared.domain.highs(declared.width)
    volume = float(np.prod(highs - lows)) ** declared.tokens
    unit = unit_for(certificate.tolerance)
    powers = ((errors[: asked.uniform] / unit) ** p).sum(axis=(1, 2)) * volume
    if not np.isfinite(powers).all():
        return math.inf, math.inf
    mean, slack = float(powers.mean()), DOUBT * float(powers.std(ddof=1) / np.sqrt(len(powers)))
    return unit * mean ** (1 / p), unit * max(mean - slack, 0.0) ** (1 / p)


def _proofs(model: Model, target: Target, dtypes: Sequence[DType]) -> Iterator[Proof]:
    """The checker's word on every type. Tables are exact in their own type only, and cost most to prove."""
    own = model.network.dtype
    for dtype in dtypes if model.certificate.grid is None else (own,):
        try:
            network = _in(model.network, dtype)
        except NetworkError as error:
            yield Proof(dtype.name, None, words_of(error))
            continue
        check = verify if dtype == own else verify_anew
        found = check(network, model.certificate, target)
        yield Proof(dtype.name, found.verdict, found.reason, None if found.bound is None else float(found.bound.upper))
