"""Which function of NumPy or SciPy the user called, when it makes a plain array of an interval deep inside.

Most of NumPy's own functions let an array define what they do to it. These functions do not, so they cannot be
followed. The error names what the user wrote, `scipy.special.softmax`, not the np.asarray inside. The call stack is
inspected only for this message.
"""

import inspect
import sys
from types import FrameType
from typing import Any, Final

_MAXIMUM = "x.max(axis=…, keepdims=True)"
_INSTEAD: Final = {
    "scipy.special.softmax": (
        f"Write e = np.exp(x - {_MAXIMUM}) and e / e.sum(axis=…, keepdims=True); or, with tighter ranges, over the last"
        " axis of size n: 1 / np.exp((1 - np.eye(n)) * (x[..., None, :] - x[..., None])).sum(axis=-1)."
    ),
    "scipy.special.log_softmax": (f"Write z = x - {_MAXIMUM} and z - np.log(np.exp(z).sum(axis=…, keepdims=True))."),
    "scipy.special.logsumexp": "Write np.logaddexp.reduce(x, axis=…).",
    "np.take": "Which entry an interval names differs from member to member; use np.where.",
    "np.vectorize": "Call the function on the whole array, written with NumPy's functions.",
}
_OTHERWISE = "Write its formula with NumPy's functions."


def library_function() -> str | None:
    """The function of NumPy or SciPy that we were called from; None if it was the user's own code."""
    return _library_call(inspect.currentframe())


def refused_call() -> str | None:
    """Why the called library function takes no intervals; None if the user's own code asked for a plain array."""
    name = library_function()
    if name is None:
        return None
    return f"{name} does not take intervals: it makes plain arrays of its arguments. {_INSTEAD.get(name, _OTHERWISE)}"


def _library_call(frame: FrameType | None) -> str | None:
    """The outermost of the library's frames that we were called from."""
    while frame is not None and _package(frame) == "anyformer":
        frame = frame.f_back
    found = None
    while frame is not None and _package(frame) in ("numpy", "scipy"):
        found, frame = frame, frame.f_back
    return None if found is None else _name(found)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


def _name(frame: FrameType) -> str:
    """The shortest name by which the function is found."""
    function, *method = frame.f_code.co_qualname.split(".")
    if method and "self" in frame.f_locals:
        function = type(frame.f_locals["self"]).__name__
    module = str(frame.f_globals["__name__"]).split(".")
    public = module[: next((at for at, part in enumerate(module) if part.startswith("_")), len(module))]
    places = [".".join(public[:size]) for size in range(1, len(public) + 1)]
    found = next((place for place in places if _is_found(place, function, frame)), places[-1])
    return f"{found}.{function}".replace("numpy", "np", 1)


def _is_found(place: str, function: str, frame: FrameType) -> bool:
    value: Any = getattr(sys.modules.get(place), function, None)
    if isinstance(value, type):
        return bool(value.__module__.split(".")[0] == _package(frame))
    return value is not None and getattr(inspect.unwrap(value), "__code__", None) is frame.f_code
