"""Numbers that hunt well: subnormal to huge, powers of two and their neighbours, signed zeros, and equal ones."""

import numpy as np

STYLES = ("plain", "dyadic", "whole", "huge", "tiny", "wide", "subnormal", "signed zeros", "near")


def draw(rng: np.random.Generator, style: str, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Finite numbers of a style."""
    sign = rng.choice([-1.0, 1.0], shape)
    match style:
        case "plain":
            return rng.normal(size=shape)
        case "dyadic":
            return sign * np.ldexp(1.0, rng.integers(-3, 4, shape))
        case "whole":
            return rng.integers(-3, 4, shape).astype(np.float64)
        case "huge":
            return sign * np.minimum(np.ldexp(1 + rng.random(shape), rng.integers(480, 1023, shape)), 1e308)
        case "tiny":
            return sign * np.ldexp(1.0, rng.integers(-1060, -400, shape))
        case "wide":
            return sign * np.ldexp(1 + rng.random(shape), rng.integers(-1074, 1023, shape))
        case "subnormal":
            return sign * rng.integers(1, 4, shape) * 5e-324 * 2.0 ** rng.integers(0, 53, shape)
        case "signed zeros":
            return sign * 0.0
        case "near":
            return np.nextafter(sign * np.ldexp(1.0, rng.integers(-2, 3, shape)), rng.choice([-9.0, 9.0], shape))
    raise ValueError(style)


def weights(rng: np.random.Generator, styles: tuple[str, ...], shape: tuple[int, ...]) -> np.ndarray:
    """An array of one style with a few entries of another, now and then of 0."""
    array = np.array(draw(rng, str(rng.choice(styles)), shape), dtype=np.float64)
    other = np.array(draw(rng, str(rng.choice(styles)), shape))
    array = np.where(rng.random(shape) < 0.2, other, array)
    return np.where(rng.random(shape) < rng.choice([0.0, 0.3]), 0.0, array)
