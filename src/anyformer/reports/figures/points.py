"""Inputs that figures show: one sequence, or all entries of it fixed but one or two."""

import numpy as np

from anyformer.arrays import Array
from anyformer.reports.terminal import rounded
from anyformer.targets.domains import CompactSupport, Domain

GOLDEN = (5**0.5 - 1) / 2
# Longer sequences are not written out.
MOST_SHOWN = 8
# How far beyond a compact support a figure goes, as a share of its sides.
MARGIN = 1 / 8

Entry = tuple[int, int]
"""Token and coordinate."""


def sample_point(domain: Domain, tokens: int, width: int) -> Array:
    """A sequence whose entries are all different and inside the domain: multiples of the golden ratio, mod 1."""
    shares = (0.3 + GOLDEN * np.arange(tokens * width)) % 1.0
    low, high = domain.lows(width), domain.highs(width)
    return np.asarray(low + (0.05 + 0.9 * shares.reshape(tokens, width)) * (high - low))


def along(domain: Domain, width: int, coordinate: int, points: int) -> Array:
    """Evenly spaced values of one coordinate, over the domain and around a compact support."""
    low, high = float(domain.lows(width)[coordinate]), float(domain.highs(width)[coordinate])
    margin = MARGIN * (high - low) if isinstance(domain, CompactSupport) else 0.0
    return np.linspace(low - margin, high + margin, points)


def entry_name(entry: Entry, width: int) -> str:
    """An entry of a sequence in words, counted from 0 as everywhere else."""
    token, coordinate = entry
    return f"token {token}" if width == 1 else f"token {token}, coordinate {coordinate}"


def fixed_entries(point: Array, varied: list[Entry]) -> str:
    """What the other entries are, in words."""
    others = [
        f"{entry_name((token, i), point.shape[1])} = {rounded(float(point[token, i]), 2)}"
        for token, i in np.ndindex(*point.shape)
        if (token, i) not in varied
    ]
    if not others:
        return "there are no others"
    more = f" and {len(others) - MOST_SHOWN:,} more" if len(others) > MOST_SHOWN else ""
    return f"the others are fixed: {', '.join(others[:MOST_SHOWN])}{more}"
