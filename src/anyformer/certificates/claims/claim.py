"""What a verdict is about, in full: two different claims never look the same."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.bounds.powers import exponent_data
from anyformer.certificates.claims.declaration import Declaration
from anyformer.certificates.propagation.walls import Reach
from anyformer.networks.dtypes import FLOAT64, DType
from anyformer.targets.domains import CompactSupport
from anyformer.targets.target import Symmetry


@dataclass(frozen=True)
class Claim:
    """d_p(f, g) <= tolerance, for the target f as it was used, over its domain, and what is trusted."""

    target: Declaration
    p: float
    tolerance: float
    kind: Evidence
    weights_digest: str
    reach: Reach = Reach.CELLS
    """Where the claim holds for the program in its floating-point type; in real arithmetic, on the whole domain."""
    dtype: DType = FLOAT64

    def facts(self) -> dict[str, str]:
        """Every part of the claim as text, by name. Numbers have all their digits."""
        declared = self.target
        given = ", ".join(f"{name}={value!r}" for name, value in sorted(declared.parameters.items()))
        order = "with positions" if declared.symmetry is Symmetry.NONE else "permutation equivariant"
        return {
            "target": f"{declared.name}({given}) on {declared.tokens} tokens of width {declared.width}",
            "defined by": "the catalogue of this package" if declared.is_ready_made else "a user's own function",
            "symmetry": order,
            "domain": _domain(declared),
            "norm": _norm(self.p),
            "tolerance": repr(self.tolerance),
            "kind": self.kind.value,
            **_declared(declared, self.kind),
            "dtype": f"real arithmetic on {Reach.DOMAIN.value}; {self.dtype} on {self.reach.value}",
            "weights": self.weights_digest,
        }

    def to_json(self) -> dict[str, Any]:
        """The claim as a JSON object; floats are JSON numbers with all their digits."""
        declared = self.target
        low, high = declared.domain.lows(declared.width), declared.domain.highs(declared.width)
        return {
            "target": declared.name,
            "ready_made": declared.is_ready_made,
            "parameters": dict(declared.parameters),
            "tokens": declared.tokens,
            "width": declared.width,
            "symmetry": declared.symmetry.name.lower(),
            "domain": {"kind": declared.domain.kind(), "low": low.tolist(), "high": high.tolist()},
            "p": exponent_data(self.p),
            "norm": f"L^{self.p!r}, entry-wise",
            "tolerance": self.tolerance,
            "kind": self.kind.value,
            "modulus": None if declared.modulus is None else declared.modulus.to_json(),
            "evaluation_error": declared.evaluation_error,
            "dtype": {"real": Reach.DOMAIN.value, self.dtype.name: self.reach.value},
            "weights_digest": self.weights_digest,
        }


def _norm(p: float) -> str:
    if p == math.inf:
        return "L^inf: the largest |f − g| of any entry, for any input"
    return f"L^{p!r}: the integral of the sum over all entries of |f − g|^p, to the power 1/p"


def _domain(declared: Declaration) -> str:
    ends = zip(declared.domain.lows(declared.width), declared.domain.highs(declared.width), strict=True)
    sides = " × ".join(f"[{float(low)!r}, {float(high)!r}]" for low, high in ends)
    if isinstance(declared.domain, CompactSupport):
        return f"all sequences; the target is 0 where a token leaves {sides}"
    return f"sequences whose tokens all lie in {sides}"


def _declared(declared: Declaration, kind: Evidence) -> Mapping[str, str]:
    """What is trusted, where something is."""
    if not kind.uses_modulus or declared.modulus is None:
        return {}
    return {
        "modulus": json.dumps(declared.modulus.to_json(), sort_keys=True),
        "evaluation error": repr(declared.evaluation_error),
    }
