"""What a certificate says of its target: enough to find a ready-made one, never enough to run code."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from anyformer.errors import CertificateError, TargetError
from anyformer.strict_json import float_from_hex, to_hex
from anyformer.targets.catalogue import CATALOGUE, ready_made
from anyformer.targets.domains import Domain, domain_from_json
from anyformer.targets.moduli import Modulus, modulus_from_json
from anyformer.targets.target import Symmetry, Target


@dataclass(frozen=True)
class Declaration:
    """A target without its function."""

    name: str
    is_ready_made: bool
    parameters: Mapping[str, float | int]
    tokens: int
    width: int
    symmetry: Symmetry
    domain: Domain
    modulus: Modulus | None
    evaluation_error: float

    @classmethod
    def of(cls, target: Target) -> "Declaration":
        """What a target declares. It is ready-made if the catalogue gives exactly this target, apart from positions."""
        return cls(
            target.name,
            _is_from_catalogue(target),
            dict(target.parameters),
            target.tokens,
            target.width,
            target.symmetry,
            target.domain,
            target.modulus,
            target.evaluation_error,
        )

    def target(self, function: Callable[..., Any] | None = None, vectorised: bool = True) -> Target:
        """The target itself: from the catalogue, or from the user's function with what was declared of it."""
        if function is not None:
            return Target(
                function,
                self.tokens,
                self.width,
                self.modulus,
                self.name,
                self.domain,
                self.symmetry,
                vectorised,
                evaluation_error=self.evaluation_error,
            )
        if not self.is_ready_made:
            raise CertificateError(
                f"the target {self.name!r} is a user's own function, and a model file never runs code; "
                f"name it again: --target path/to/file.py:function on the command line, target=… in Python"
            )
        try:
            # Domain and modulus come from the catalogue, not from the file; the checker tests the claimed symmetry.
            found = ready_made(self.name, self.tokens, self.width, **self.parameters)
        except (TargetError, TypeError) as error:
            raise CertificateError(f"the certificate names a ready-made target that does not exist: {error}") from error
        if found.name != self.name:  # the catalogue also accepts underscores, but a claim must have one form only
            raise CertificateError(f"the certificate must name its target as the catalogue does; got {self.name!r}")
        return replace(found, symmetry=self.symmetry)

    def to_json(self) -> dict[str, Any]:
        """A JSON object; floats as hexadecimal strings."""
        return {
            "name": self.name,
            "ready_made": self.is_ready_made,
            "parameters": {
                key: to_hex(value) if isinstance(value, float) else value for key, value in self.parameters.items()
            },
            "tokens": self.tokens,
            "width": self.width,
            "symmetry": self.symmetry.name.lower(),
            "domain": self.domain.to_json(),
            "modulus": None if self.modulus is None else self.modulus.to_json(),
            "evaluation_error": to_hex(self.evaluation_error),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Declaration":
        """Read what `to_json` wrote."""
        try:
            return cls(
                name=str(data["name"]),
                is_ready_made=data["ready_made"] is True,
                parameters={key: _number(value) for key, value in data["parameters"].items()},
                tokens=_whole(data["tokens"]),
                width=_whole(data["width"]),
                symmetry=Symmetry[data["symmetry"].upper()],
                domain=domain_from_json(data["domain"]),
                modulus=None if data["modulus"] is None else modulus_from_json(data["modulus"]),
                evaluation_error=_error_bound(data["evaluation_error"]),
            )
        except KeyError as error:
            raise CertificateError(f"the certificate's target has no usable field {error}") from error
        except (TypeError, ValueError, AttributeError, OverflowError, TargetError) as error:
            raise CertificateError(f"the certificate's target cannot be read: {error}") from error


def _is_from_catalogue(target: Target) -> bool:
    if target.name not in CATALOGUE:
        return False
    try:
        original = ready_made(target.name, target.tokens, target.width, **target.parameters)
    except TargetError:
        return False
    return replace(original, symmetry=target.symmetry) == target


def _error_bound(value: object) -> float:
    number = float_from_hex(value)
    if not 0 <= number < math.inf:
        raise ValueError(f"evaluation_error must be finite and not negative; got {number!r}")
    return number


def _number(value: object) -> Any:
    return float_from_hex(value) if isinstance(value, str) else _whole(value)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"expected a whole number, got {value!r}")
    return value
