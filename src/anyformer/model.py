"""The spine in one place: target → plan → network → proof → run → take away."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import Array
from anyformer.certificates.bounds.bound import TIGHTNESS
from anyformer.certificates.bounds.effort import ORDINARY, Effort
from anyformer.certificates.checker import Verdict, Verification, verify, verify_anew
from anyformer.certificates.claims.certificate import Certificate
from anyformer.construction.asking import AUTO, request_for
from anyformer.construction.planning import plans
from anyformer.construction.plans.plan import Construction, Method, Plan
from anyformer.construction.request import MAX_LAYERS, Pattern, Request
from anyformer.errors import CertificateError, PlanError, ToleranceMissed, UncertifiedWarning
from anyformer.exports.folder import load_folder, save_folder
from anyformer.networks.dtypes import FLOAT64, DType, as_dtype
from anyformer.networks.network import Network, cast
from anyformer.networks.probability_maps import ProbabilityMap, Softmax
from anyformer.notebooks import as_table
from anyformer.proving import certify, prove, restated
from anyformer.runtime.run import run
from anyformer.targets.target import Target
from anyformer.workers import Progress, enter

if TYPE_CHECKING:
    from anyformer.explorer import Page

SOFTMAX = Softmax()
# How often a proof that misses the tolerance may be tried again on a finer grid.
ATTEMPTS = 4


@dataclass(frozen=True, eq=False)
class Model:
    """A Transformer with its certificate. Call it on (batch, tokens, width) sequences, or on one (tokens, width)."""

    network: Network
    certificate: Certificate
    target: Target | None = field(default=None, repr=False)
    construction: Construction | None = field(default=None, repr=False)
    """The plan and the hard network, if the model was built here and not loaded."""

    def __call__(self, x: ArrayLike) -> Array:
        """Run the network."""
        sequences = np.asarray(x, dtype=np.float64)
        return run(self.network, sequences[None])[0] if sequences.ndim == 2 else run(self.network, sequences)

    def _repr_html_(self) -> str:
        network, claimed = self.network, self.certificate.target
        sizes = {
            "layers": network.layer_count,
            "attention layers": network.attention_layer_count,
            "parameters": network.parameter_count,
        }
        title = f"{claimed.name} on {network.tokens} tokens of width {network.width}"
        return as_table(title, {**self.certificate.facts(), **sizes})

    def verify(
        self,
        target: Target | None = None,
        progress: Progress | None = None,
        effort: Effort = ORDINARY,
        dtype: DType | str | None = None,
    ) -> Verification:
        """Prove the error bound again, trusting neither the certificate nor the construction.

        With another dtype, the claim is examined for the weights rounded to it and for the program in that type.
        """
        target = target or self.target
        if dtype is None or as_dtype(dtype) == self.network.dtype:
            return verify(self.network, self.certificate, target, progress, effort)
        return verify_anew(cast(self.network, as_dtype(dtype)), self.certificate, target, progress, effort)

    def astype(self, dtype: DType | str) -> Network:
        """The network with its weights rounded to another type. No certificate holds for it, and a warning says so."""
        wanted = as_dtype(dtype)
        if wanted != self.network.dtype:
            warnings.warn(
                f"the certificate is about {self.network.dtype} weights; rounded to {wanted} they are another network, "
                f"without a certificate. Build it in {wanted} (dtype={wanted.name!r}), or prove the claim of it with "
                f"recertify.",
                UncertifiedWarning,
                stacklevel=2,
            )
        return cast(self.network, wanted)

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Write config.json, model.safetensors and certificate.json to a folder, all or nothing."""
        return save_folder(Path(folder), self.network, self.certificate, overwrite)

    def explore(self, path: str | Path | None = None, overwrite: bool = False) -> "Page":
        """A self-contained page that computes with these weights: drag the tokens, watch the proof at work.

        In a notebook it shows itself; `page.html` is its text. With a path, it is written there.
        """
        from anyformer.explorer import explore

        page = explore(self.network, self.certificate, self.target)
        if path is not None:
            page.save(path, overwrite)
        return page


def plan(
    target: Target | str | Callable[..., Any],
    tolerance: float,
    *,
    tokens: int | None = None,
    width: int | None = None,
    p: float = 2.0,
    method: Method | str = AUTO,
    pattern: Pattern | str | None = None,
    probability_map: ProbabilityMap = SOFTMAX,
    heads: int | None = None,
    hidden_size: int | None = None,
    tightness: float = TIGHTNESS,
    max_layers: int = MAX_LAYERS,
    effort: Effort = ORDINARY,
    dtype: DType | str = FLOAT64,
) -> Plan:
    """Decide every size of a network without building it; if it does not fit, the error says what would.

    Takes what `construct` takes.

    Example:
        >>> import anyformer as af
        >>> af.plan(af.targets.mean_scale(tokens=2), tolerance=0.2).layers
        2
    """
    request = request_for(
        target,
        tolerance,
        tokens=tokens,
        width=width,
        p=p,
        method=method,
        pattern=pattern,
        probability_map=probability_map,
        heads=heads,
        hidden_size=hidden_size,
        tightness=tightness,
        max_layers=max_layers,
        effort=effort,
        dtype=dtype,
    )
    return plans(request)[0]


def construct(
    target: Target | str | Callable[..., Any],
    tolerance: float,
    *,
    tokens: int | None = None,
    width: int | None = None,
    p: float = 2.0,
    method: Method | str = AUTO,
    pattern: Pattern | str | None = None,
    probability_map: ProbabilityMap = SOFTMAX,
    heads: int | None = None,
    hidden_size: int | None = None,
    tightness: float = TIGHTNESS,
    max_layers: int = MAX_LAYERS,
    effort: Effort = ORDINARY,
    dtype: DType | str = FLOAT64,
    progress: Progress | None = None,
) -> Model:
    """Build a Transformer for a target and prove that its L^p error is at most the tolerance. No training.

    Args:
        target: what to approximate, with its domain and symmetry; or the name of a ready-made target, or a function of
            (batch, tokens, width) arrays, with `tokens` and `width`.
        tolerance: the ε of d_p(f, g) <= ε.
        tokens: the length of the sequences, for a name or a function only.
        width: numbers per token, for a name or a function only; 1 if not given.
        p: the exponent of the error, 1 <= p <= 64, or inf for the largest error anywhere.
        method: how to build, as a value such as `Compile()` or by name; "auto" takes the smallest network.
        pattern: which tokens may attend to which, as a value of `anyformer.patterns` or by name; the network is then
            sparse and has positions.
        probability_map: how scores become weights: softmax, sparsemax or entmax.
        heads: the most heads of a layer; a compiled network is cut into layers within it, a table has two.
        hidden_size: the most hidden units of a layer. A compiled network is cut into layers within it; a table needs at
            least 4, which it takes if nothing is given, and more of them make it shallower.
        tightness: refine the proof until its bound is within this factor of a lower bound, or the work is used up.
        max_layers: refuse to build above this many layers.
        effort: what the proof may cost; requests that need more are refused before anything is built.
        dtype: the type of the weights, and of the program that the proof is about besides real arithmetic: "float64",
            "float32", or where they suffice "float16" and "bfloat16". Refused with the bits needed where it is too
            narrow.
        progress: called with (done, total) while the proof is under way.

    Returns:
        The model, certified; anything that cannot be certified raises instead.

    Example:
        >>> import anyformer as af
        >>> built = af.construct(af.targets.softmax(tokens=3), tolerance=0.1)
        >>> built.certificate.certified_error <= 0.1
        True
    """
    request = request_for(
        target,
        tolerance,
        tokens=tokens,
        width=width,
        p=p,
        method=method,
        pattern=pattern,
        probability_map=probability_map,
        heads=heads,
        hidden_size=hidden_size,
        tightness=tightness,
        max_layers=max_layers,
        effort=effort,
        dtype=dtype,
    )
    return fulfil(request, progress)


def fulfil(request: Request, progress: Progress | None = None) -> Model:
    """Build what the request asks for, with the smallest plan whose proof succeeds."""
    missed: list[ToleranceMissed] = []
    enter(progress, "planning")
    for planned in plans(request):
        try:
            return carry_out(planned, progress)
        except ToleranceMissed as error:
            missed.append(error)
    raise missed[-1]


def carry_out(planned: Plan, progress: Progress | None = None) -> Model:
    """Plan → network → proof; if the bound misses the tolerance, try again on finer grids, a few times."""
    for attempt in range(ATTEMPTS):
        enter(progress, "building")
        construction = planned.method.build(planned)
        enter(progress, "proving")
        bound = prove(construction, progress)
        if bound.upper <= planned.request.tolerance:
            enter(progress, "measuring")
            return Model(construction.network, certify(construction, bound), planned.target, construction)
        if attempt + 1 < ATTEMPTS:
            enter(progress, "planning")
            try:
                planned = planned.method.finer(planned)
            except PlanError:
                break
    raise ToleranceMissed(
        f"the network was built, but the proof reaches an error of {bound.upper:.6g}, not "
        f"{planned.request.tolerance:g}; nothing uncertified is returned. Ask for a tolerance of {bound.upper:.3g} or "
        f"more."
    )


def recertify(network: Network, claim: Certificate, target: Target | None = None, effort: Effort = ORDINARY) -> Model:
    """Prove of other weights what a certificate claims of its own, and certify them.

    Args:
        network: the weights: cast to another type, brought back from PyTorch, or changed.
        claim: a certificate of the network that they come from. Its target, norm, tolerance and what its proof starts
            from are kept; its numbers are derived again.
        target: the function, if it is not a ready-made one.
        effort: what the proof may cost.

    Raises:
        CertificateError: if the claim is refuted or not proved.
    """
    target = claim.target.target() if target is None else target
    found = verify_anew(network, claim, target, effort=effort)
    if found.verdict is not Verdict.PROVED or found.bound is None:
        raise CertificateError(f"the claim is {found.verdict.name.lower()} of these weights: {found.reason}.")
    return Model(network, restated(claim, network, target, found.bound), target)


def load(folder: str | Path) -> Model:
    """Read a model folder. The certificate is not trusted: `verify` proves it again."""
    network, certificate = load_folder(Path(folder))
    return Model(network, certificate)
