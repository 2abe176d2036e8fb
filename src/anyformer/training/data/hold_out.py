"""Holding out a share by a key, so that examples with the same key stay on one side."""

import hashlib

from anyformer.errors import TrainingError

TENTH = 0.1
"""The default share of labelled examples that is held out."""


def held_out(key: str, share: float, seed: int) -> bool:
    """Whether this key is held out; each key is decided independently, so more data does not move earlier examples.

    >>> [held_out(key, share=0.5, seed=0) for key in "abcd"] == [held_out(key, share=0.5, seed=0) for key in "abcd"]
    True
    """
    if not 0 < share < 1:
        raise TrainingError(f"the share held out must be between 0 and 1; got {share}. Choose 0.1, for example.")
    drawn = hashlib.sha256(f"{seed}\n{key}".encode()).digest()
    return int.from_bytes(drawn[:8]) < share * 2**64
