"""GF(q^n) as polynomials in a primitive θ, and discrete logarithms in it."""

import itertools
import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Element: TypeAlias = tuple[int, ...]
"""Coefficients of 1, θ, θ², …"""


@dataclass(frozen=True)
class GaloisField:
    """GF(q^n), q prime: θ^n = Σ polynomial[i]·θ^i, and θ generates all elements but 0."""

    q: int
    polynomial: Element

    @classmethod
    def of(cls, q: int, order: int) -> "GaloisField":
        """The first primitive polynomial in a fixed random order.

        Only for an irreducible polynomial can θ have order q^n − 1: that is all to check.
        """
        rng = np.random.default_rng([q, order])
        primes = prime_factors(q, order)
        while True:
            field = cls(q, tuple(int(c) for c in rng.integers(0, q, order)))
            if field.polynomial[0] and field._generates_all(primes):
                return field

    @property
    def one(self) -> Element:
        """The unit."""
        return (1,) + (0,) * (len(self.polynomial) - 1)

    @property
    def theta(self) -> Element:
        """The generator."""
        return (0, 1) + (0,) * (len(self.polynomial) - 2)

    @property
    def size(self) -> int:
        """How many elements but 0."""
        return int(self.q ** len(self.polynomial) - 1)

    def product(self, a: Element, b: Element) -> Element:
        """a·b, by Horner's rule in θ."""
        q, total = self.q, (0,) * len(a)
        for factor in reversed(a):
            top = total[-1]
            shifted = zip((0, *total[:-1]), self.polynomial, b, strict=True)
            total = tuple((carry + top * c + factor * d) % q for carry, c, d in shifted)
        return total

    def power(self, base: Element, exponent: int) -> Element:
        """base^exponent, by squaring."""
        result = self.one
        while exponent:
            if exponent & 1:
                result = self.product(result, base)
            base = self.product(base, base)
            exponent >>= 1
        return result

    def _generates_all(self, primes: list[int]) -> bool:
        theta = self.theta
        return self.power(theta, self.size) == self.one and all(
            self.power(theta, self.size // prime) != self.one for prime in primes
        )


def logarithms(field: GaloisField) -> NDArray[np.int64]:
    """The exponents e with θ^e = θ + a for some a in GF(q), by Pohlig and Hellman's algorithm."""
    primes = prime_factors(field.q, len(field.polynomial))
    wanted = [(a, 1) + (0,) * (len(field.polynomial) - 2) for a in range(field.q)]
    moduli, residues = [], []
    for prime in primes:
        power = prime ** next(k for k in itertools.count(1) if field.size % prime ** (k + 1))
        moduli.append(power)
        residues.append(_residues(field, wanted, prime, power))
    return np.array([_remainder(column, moduli) for column in zip(*residues, strict=True)], dtype=np.int64)


def _residues(field: GaloisField, wanted: list[Element], prime: int, power: int) -> list[int]:
    """The logarithms modulo a prime power that divides the group's size, digit by digit to the base of the prime."""
    generator = field.power(field.theta, field.size // prime)
    steps = math.isqrt(prime) + 1
    small = dict(zip(_powers(field, generator, steps), range(steps), strict=True))
    giant = field.power(generator, prime - steps % prime)
    inverse = field.power(field.theta, field.size - 1)
    found = []
    for element in wanted:
        residue, place = 0, 1
        while place < power:
            rest = field.product(element, field.power(inverse, residue))
            digit = _baby_and_giant(field, field.power(rest, field.size // (place * prime)), small, giant, steps)
            residue, place = residue + digit * place, place * prime
        found.append(residue)
    return found


def _powers(field: GaloisField, base: Element, count: int) -> list[Element]:
    return list(itertools.accumulate([base] * (count - 1), field.product, initial=field.one))


def _baby_and_giant(field: GaloisField, element: Element, small: dict[Element, int], giant: Element, steps: int) -> int:
    """The logarithm to the base whose first powers are `small`; every giant step divides by `steps` of them."""
    for k in range(steps + 1):
        if element in small:
            return k * steps + small[element]
        element = field.product(element, giant)
    raise AssertionError("θ generates the field, so every element has a logarithm")


def _remainder(residues: tuple[int, ...], moduli: list[int]) -> int:
    """The number below the product of the moduli that has these residues (the Chinese remainder theorem)."""
    number, modulus = 0, 1
    for residue, other in zip(residues, moduli, strict=True):
        number += modulus * ((residue - number) * pow(modulus, -1, other) % other)
        modulus *= other
    return number


def is_prime(number: int) -> bool:
    """Whether a small number is prime."""
    return number > 1 and all(number % k for k in range(2, math.isqrt(number) + 1))


def prime_factors(q: int, order: int) -> list[int]:
    """The primes that divide q^n − 1, from the factors q^d − 1, d dividing n, which are smaller."""
    found: set[int] = set()
    rest = q**order - 1
    for d in (d for d in range(1, order + 1) if order % d == 0):
        part = math.gcd(rest, q**d - 1) if d < order else rest
        for prime in _trial_division(part):
            found.add(prime)
            while rest % prime == 0:
                rest //= prime
    return sorted(found)


def _trial_division(number: int) -> list[int]:
    factors, k = [], 2
    while k * k <= number:
        if number % k == 0:
            factors.append(k)
            while number % k == 0:
                number //= k
        k += 1
    return [*factors, number] if number > 1 else factors
