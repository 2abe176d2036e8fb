"""What single layers of a table do, in words, read off their weights and roles."""

import numpy as np

from anyformer.arrays import Integers
from anyformer.labels.tables.codes import code_of, window
from anyformer.networks.evaluate import apply_feed_forward
from anyformer.networks.layers import AttentionStage, FeedForwardStage
from anyformer.networks.network import Network
from anyformer.networks.roles import Role

WHAT_CHANNELS_HOLD = {
    Role.PREPARE: "coordinate {i}, on the way to the grid",
    Role.GUARD: "coordinate {i}, or a mark for what lies outside the support",
    Role.QUANTISE: "coordinate {i}, fallen to the lower end of its cell",
    Role.STRAY: "coordinate {i} of the output",
    Role.CLIP: "coordinate {i} of the output",
    Role.VALUE: "coordinate {i} of the output",
}
WHAT_THE_FIRST_HOLDS = {
    Role.CODE: "the code of the token's column of cells",
    Role.SHIFT: "the token's code, moved by what the other tokens hold",
    Role.CONTEXT_ID: "the context id: what the token and all others hold, in one number",
    Role.LIFT: "the context id, above every possible output",
}


def channel_words(role: Role, channel: int) -> str:
    """What a channel holds after a stage of this role."""
    if role in WHAT_CHANNELS_HOLD:
        return WHAT_CHANNELS_HOLD[role].format(i=channel)
    if role in WHAT_THE_FIRST_HOLDS:
        return WHAT_THE_FIRST_HOLDS[role] if channel == 0 else f"coordinate {channel} of its cell, or 0 if gathered"
    return f"coordinate {channel}"


def head_words(stage: AttentionStage, layer: int, head: int, is_sparse: bool) -> tuple[str, str]:
    """The step and the words of one head."""
    everyone = "the tokens in view" if is_sparse else "all tokens"
    W_Q, b_Q, W_K = (getattr(stage, name)[layer, head] for name in ("W_Q", "b_Q", "W_K"))
    if not stage.W_O[layer, head].any():
        return "idle", "writes nothing"
    if not W_K.any() or not (W_Q.any() or b_Q.any()):
        return "mean", f"average over {everyone}"
    if (seen := window(stage, layer)) is not None:
        return "selective shift", f"selective shift, window ({seen.lower:.15g}, {seen.upper:.15g}), among {everyone}"
    if not W_Q.any():
        extreme = "largest" if (b_Q >= 0).all() else "smallest"
        return "token maximum", f"the {extreme} number among {everyone}, by a sharp constant query"
    return "attention", f"sharp attention among {everyone}"


class LayerWords:
    """What the feed-forward layers of one stage do."""

    def __init__(self, network: Network, number: int) -> None:
        stage = network.stages[number]
        assert isinstance(stage, FeedForwardStage)
        self.stage, code = stage, code_of(network)
        self.unit = None if code is None else code.unit
        lifts = [one for one in network.stages if one.role is Role.LIFT and isinstance(one, FeedForwardStage)]
        self.lift = float(sum(one.b_2[:, 0].sum() for one in lifts))

    def of(self, layer: int) -> str:
        """One layer."""
        match self.stage.role:
            case Role.QUANTISE:
                return self._level(layer)
            case Role.VALUE:
                return self._values(layer)
            case Role.LIFT:
                return f"adds {self.stage.b_2[layer, 0]:g} to every token"
            case Role.CODE:
                return self._code(layer)
        return str(self.stage.role.value)

    def _level(self, layer: int) -> str:
        coordinate, kinks = self._coordinate(layer), -self.stage.b_1[layer, self._used(layer)]
        low, high = float(kinks.min()), float(kinks.max())
        if coordinate is None or low == high:
            return str(self.stage.role.value)
        level = low / (high - low)
        return f"level {level:.15g} of coordinate {coordinate}: from {low:.15g} to {high:.15g} it falls to {low:.15g}"

    def _code(self, layer: int) -> str:
        coordinate = self._coordinate(layer)
        if coordinate is None:
            return str(self.stage.role.value)
        if coordinate:
            factor = float(self.stage.W_2[layer, 0, self._used(layer)[0]])
            return f"adds {factor:g} times coordinate {coordinate} to coordinate 0, and clears it"
        return (
            "raises the numbers from " + ", ".join(f"{t:.15g}" for t in self.thresholds(layer)) + " on to their codes"
        )

    def _values(self, layer: int) -> str:
        """Numbers from the largest down: what was above the last threshold has its value already."""
        thresholds = self.thresholds(layer)
        above = self.thresholds(layer - 1)[-1:] if layer else []
        tops: list[float | None] = [above[0] if above else None, *thresholds]
        parts = [self._run(layer, low, top) for top, low in zip(tops, thresholds, strict=False)]
        return "; ".join(parts) if parts else "does nothing"

    def _run(self, layer: int, low: float, top: float | None) -> str:
        """Which ids a step serves: all from its threshold up to the step above, or the one at the threshold alone."""
        value, unit = self._value(layer, low), self.unit or 0.0
        serves_more = bool(value) and unit and (top is None or low + unit < top)
        if serves_more and self._value(layer, low + unit) == value:
            return f"ids from {self._id(low)}{'' if top is None else f' to below {self._id(top)}'} → {value}"
        return f"id {self._id(low)} → {value}" if value else f"id {self._id(low)} gets its value"

    def _id(self, number: float) -> str:
        return f"{(number - self.lift) / (self.unit or 1.0):.15g}"

    def _value(self, layer: int, at: float) -> str:
        """What a token at a threshold becomes; only where layers read the first coordinate alone is that all of it."""
        used = self._used(layer)
        if self.stage.W_1[layer, used][:, 1:].any():
            return ""
        token = np.zeros((1, 1, self.stage.W_1.shape[2]))
        token[0, 0, 0] = at
        value = apply_feed_forward(self.stage[layer], token)[0, 0]
        return ", ".join(f"{entry:.6g}" for entry in value.tolist())

    def thresholds(self, layer: int) -> list[float]:
        """Where the steps of a layer end, from the highest down: units come in pairs, a ramp's start and its end."""
        used = set(self._used(layer).tolist())
        ends = {float(-self.stage.b_1[layer, unit]) for unit in used if unit % 2}
        return sorted(ends, reverse=True)

    def _coordinate(self, layer: int) -> int | None:
        """The one coordinate that all units of a layer read as it is; None if there is no such."""
        rows = self.stage.W_1[layer, self._used(layer)]
        read = np.flatnonzero(rows.any(axis=0))
        return int(read[0]) if len(read) == 1 and (rows[:, read[0]] == 1).all() else None

    def _used(self, layer: int) -> Integers:
        return np.flatnonzero(self.stage.W_2[layer].any(axis=0))
