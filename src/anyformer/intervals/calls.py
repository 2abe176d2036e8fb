"""How a call of a NumPy function that is not a ufunc is read. The table is `supported`."""

from collections.abc import Callable
from typing import Any

from anyformer.intervals.errors import IntervalError, refuse_options, refuse_order, unsupported
from anyformer.intervals.rules.arguments import function_name, signature
from anyformer.intervals.supported import DIRECT, RULES, UNORDERED


def call_function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Enclose what `function(*args, **kwargs)` returns for members of the arguments."""
    if function in RULES:
        return RULES[function](function, args, kwargs)
    name = function_name(function)
    if function in UNORDERED:
        raise IntervalError(
            f"{name} is not supported on intervals: which entry it names differs from member to member."
            " Use the values instead: np.sort, np.max, np.min, np.maximum.accumulate, np.where."
        )
    if function not in DIRECT:
        raise unsupported(name)
    refuse_options(name, {"out": kwargs.pop("out", None)})
    if "order" in kwargs:
        refuse_order(name, kwargs["order"])
    return DIRECT[function](*args, **_taken(name, DIRECT[function], kwargs))


def _taken(name: str, rule: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keywords without those that a rule does not take. Raises if those ask for something unusual."""
    parameters = signature(rule).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return kwargs
    refuse_options(name, {key: value for key, value in kwargs.items() if key not in parameters})
    return {key: value for key, value in kwargs.items() if key in parameters}
