"""From a request to a plan: with the requested method, or with the one that needs the fewest layers."""

from dataclasses import replace

from anyformer.construction.methods import METHODS
from anyformer.construction.plans.plan import Method, Plan
from anyformer.construction.refusal import Refusal
from anyformer.construction.request import Request
from anyformer.errors import PlanError
from anyformer.targets.checks.battery import check_target


def plan(request: Request) -> Plan:
    """Decide every size of the network without building it, or refuse with what would fit."""
    return plans(request)[0]


def plans(request: Request) -> list[Plan]:
    """The plans of all requested methods that fit, the one with the fewest layers first; a refusal if none fits."""
    check_target(request.target)
    found, refused = [], []
    for method in methods_for(request):
        try:
            found.append(method.plan(request))
        except PlanError as error:
            refused.append(error)
    if not found:
        raise _with_request(refused[0], request)
    return sorted(found, key=lambda plan: plan.layers)


def methods_for(request: Request) -> list[Method]:
    """The requested method; otherwise all sparse methods with a pattern, all dense methods without."""
    if request.method is not None:
        assert isinstance(request.method, Method)
        return [request.method]
    return [method for method in METHODS.values() if method.is_sparse == (request.pattern is not None)]


def _with_request(error: PlanError, request: Request) -> PlanError:
    """Add the request, and which other methods would fit."""
    refusal = error.refusal
    if not isinstance(refusal, Refusal):
        return error
    others = methods_for(request.but(method=None))
    would_do = tuple(one.name for one in others if one.name != refusal.method and _does(one, request))
    fit = replace(refusal.fit, methods=would_do)
    return replace(refusal, request=request, fit=fit).error()


def _does(method: Method, request: Request) -> bool:
    try:
        return method.surely_fits(request.but(method=method))
    except PlanError:
        return False
