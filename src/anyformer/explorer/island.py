"""Data inside a page: JSON that no text in it can end, and arrays that lose no bit."""

import base64
import json
from typing import Any

import numpy as np

from anyformer.arrays import Array

# What could end the element or, read as a script by mistake, a line of it.
ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def as_json(data: Any) -> str:
    """JSON for a script element of type application/json: the five signs above stand there only as escapes.

    >>> as_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    return json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":")).translate(ESCAPES)


def packed(array: Array) -> dict[str, Any]:
    """An array in base64, bit for bit: all its numbers, or those that are not 0 with their places if that is shorter.

    >>> packed(np.array([[0.0, 1.0, 0.0, 0.0]]))
    {'shape': [1, 4], 'values': 'AAAAAAAA8D8=', 'places': 'AQAAAA=='}
    """
    flat = np.ascontiguousarray(array, dtype="<f8").ravel()
    places = np.flatnonzero(flat)
    shape = list(np.shape(array))
    if 12 * len(places) < 8 * flat.size:
        return {"shape": shape, "values": _text(flat[places]), "places": _text(places.astype("<u4"))}
    return {"shape": shape, "values": _text(flat)}


def _text(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
