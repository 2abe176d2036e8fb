"""Why functions that intervals can follow cannot be traced, each with what to write instead."""

from typing import Any, Final

import numpy as np

ADVICE = "Write it with sums, products, smooth functions, np.where, maxima and means over tokens."


JUMPS = "it jumps, and a Transformer with ReLUs and softmax is continuous"


WHERE = f"{JUMPS}. Use np.where with branches that agree where the condition changes, np.maximum or np.clip."


_ORDER = (
    "which entry it names differs from input to input. Use the values instead: np.sort, np.max, np.min,"
    " np.maximum.accumulate."
)


_DIAGONAL = "it picks entries over pairs of axes. Multiply by a constant mask and sum instead."


_LONGER = "it makes sequences of another length. Use np.roll and np.where, or a constant matrix over tokens, S @ x."


_FLAT = "it flattens the batch. Keep the axes: x.reshape(batch, tokens, -1), or sum over named axes."


_QUANTILE = "it interpolates between sorted entries. Use np.sort(x, axis=1) and weigh the ones that are needed."


_COUNTS = f"it counts, so {JUMPS}. Use np.where, or a smooth function such as scipy.special.expit."


_INVERSE = "it has no step of its own. Use np.arctan, np.tanh, or another smooth function."


_PRODUCTS = "every token would need a product of its own. Use np.exp(np.cumsum(np.log(x), axis=1)) for positive x."


_FIRST_DIMENSIONS = "it may add axes in front of the batch. Use np.expand_dims, x[:, :, None]."


REFUSED_UFUNCS: Final[dict[np.ufunc, str]] = {
    **dict.fromkeys((np.sign, np.floor, np.ceil, np.rint, np.trunc, np.heaviside, np.copysign), WHERE),
    **dict.fromkeys((np.floor_divide, np.remainder, np.fmod, np.divmod), WHERE),
    **dict.fromkeys((np.equal, np.not_equal), f"{JUMPS}. Compare with < or >, in np.where."),
    **dict.fromkeys((np.logical_xor, np.bitwise_xor), "write it with & and |: (a & ~b) | (~a & b)."),
    **dict.fromkeys((np.isnan, np.isinf, np.isfinite, np.signbit), f"{JUMPS}. Leave the test out: inputs are finite."),
    **dict.fromkeys((np.arcsin, np.arccos, np.cbrt), _INVERSE),
    np.arctan2: "it jumps at the negative axis. Use np.arctan(y / x) where x is positive.",
}


REFUSED_SPECIAL: Final[dict[str, str]] = {}


REFUSED_FUNCTIONS: Final[dict[Any, str]] = {
    **dict.fromkeys((np.argsort, np.argmax, np.argmin, np.argpartition, np.argwhere), _ORDER),
    **dict.fromkeys((np.nonzero, np.flatnonzero), _ORDER),
    **dict.fromkeys((np.any, np.all, np.count_nonzero), _COUNTS),
    **dict.fromkeys((np.percentile, np.quantile, np.nanpercentile, np.nanquantile), _QUANTILE),
    **dict.fromkeys((np.cumprod, np.nancumprod), _PRODUCTS),
    **dict.fromkeys((np.round, np.around), WHERE),
    **dict.fromkeys((np.diagonal, np.diag, np.triu, np.tril), _DIAGONAL),
    **dict.fromkeys((np.delete, np.append), _LONGER),
    **dict.fromkeys((np.ravel, np.outer, np.convolve), _FLAT),
    **dict.fromkeys((np.vstack, np.dstack), "it joins along the batch or new axes. Use np.concatenate or np.stack."),
    **dict.fromkeys((np.hstack, np.column_stack), "it depends on the number of axes. Use np.concatenate(…, axis=…)."),
    **dict.fromkeys((np.vsplit, np.dsplit, np.hsplit), "it depends on the number of axes. Use np.split(…, axis=…)."),
    **dict.fromkeys((np.fliplr, np.flipud, np.rot90), "it depends on the number of axes. Use np.flip(x, axis=1)."),
    **dict.fromkeys((np.atleast_1d, np.atleast_2d, np.atleast_3d), _FIRST_DIMENSIONS),
    np.take_along_axis: "it is told by an array where entries go. Use np.take, or x[:, places] with plain places.",
    np.rollaxis: "use np.moveaxis instead.",
    np.partition: "use np.sort instead.",
    np.sinc: "it divides 0 by 0 at 0. Write np.sin(np.pi * x) / (np.pi * x) away from 0.",
    np.piecewise: "use np.select or np.where instead.",
    np.empty_like: "its entries are whatever was in memory. Use np.zeros_like.",
    np.lib.stride_tricks.sliding_window_view: _LONGER,
}


if hasattr(np, "unstack"):
    REFUSED_FUNCTIONS[np.unstack] = "it splits along the batch unless told otherwise. Use x[:, 0], x[:, 1], …"


def sentence(name: str, reason: str) -> str:
    """The whole refusal."""
    return f"{name} cannot be traced: {reason}"


def unknown(name: str) -> str:
    """The refusal of a function that is in no table."""
    return f"{name} is not supported in traced functions. {ADVICE}"
