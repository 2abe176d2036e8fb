"""A hard stage of the proof, with the room there is to make it soft."""

from dataclasses import dataclass

from anyformer.networks.layers import Stage


@dataclass(frozen=True)
class Draft:
    """A hard stage, with hardmax and activations that jump, and its room.

    For attention, the room is the smallest difference between two scores that matters; for feed-forward layers, the
    width of the ramp that may stand in for a jump. Everything steep in the soft network is derived from it.
    """

    stage: Stage
    room: float
