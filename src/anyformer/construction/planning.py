"""From a request to a plan: with the requested method, or with the one that needs the fewest parameters."""

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
    """The plans of all requested methods that fit, the one with the fewest parameters first; a refusal if none fits.

    If one method has a plan, others are only tried if they surely fit: a refusal with its advice takes long.
    """
    found: list[Plan] = []
    refused: list[PlanError] = []
    checked: set[bool] = set()
    for method in methods_for(request):
        try:
            if found and not method.surely_fits(request):
                continue
            if method.uses_modulus not in checked:
                _check(request, method.uses_modulus)
                checked.add(method.uses_modulus)
            found.append(method.plan(request))
        except PlanError as error:
            refused.append(error)
    if not found:
        raise _with_request(_most_helpful(refused), request)
    reason = next((str(error) for error in refused if error.refusal is None), None)
    return sorted((replace(plan, instead_of=reason) for plan in found), key=lambda plan: plan.parameters)


def _check(request: Request, with_modulus: bool) -> None:
    """Test what the target declares, as far as a method relies on it: testing a modulus takes long."""
    check_target(request.target if with_modulus else replace(request.target, modulus=None))


def _most_helpful(refused: list[PlanError]) -> PlanError:
    """A refusal with advice, if there is one; with the reason why the function cannot be compiled before it."""
    advised = next((error for error in refused if isinstance(error.refusal, Refusal)), refused[0])
    if advised is refused[0]:
        return advised
    assert isinstance(advised.refusal, Refusal)
    return replace(advised.refusal, before=str(refused[0])).error()


def methods_for(request: Request) -> list[Method]:
    """The requested method; otherwise all that take a pattern if there is one, all that need none otherwise."""
    if request.method is not None:
        assert isinstance(request.method, Method)
        return [request.method]
    return [method for method in METHODS.values() if method.is_sparse in (None, request.pattern is not None)]


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
