"""One construction and its bound in a process of its own: `python -m benchmarks.one_bound 16` prints what it took."""

import itertools
import json
import sys
import time
from typing import Any

from anyformer import targets
from anyformer.certificates.bounds.bound import ErrorBound, derive_bound
from anyformer.construction.plans.plan import Construction
from benchmarks.machine import forget_peak, mib
from benchmarks.plans import build, plan_with_counts

SMALLEST = 4


def main(count: int) -> dict[str, Any]:
    """Plan, build, bound; after a tiny one, so that nothing is imported or compiled on the clock."""
    target = targets.softmax(tokens=3)
    _bound(build(plan_with_counts(target, SMALLEST)))
    moments = [time.perf_counter()]
    plan = plan_with_counts(target, count)
    moments.append(time.perf_counter())
    construction = build(plan)
    moments.append(time.perf_counter())
    building_peak = mib("VmHWM")
    forget_peak()
    before = mib("VmRSS")
    bound = _bound(construction)
    moments.append(time.perf_counter())
    planning, building, bounding = (end - start for start, end in itertools.pairwise(moments))
    return {
        "count": count,
        "ids": plan.ids,
        "layers": plan.layers,
        "cells": bound.cells,
        "tolerance": plan.request.tolerance,
        "bound_reached": bound.upper,
        "plan": planning,
        "build": building,
        "bound": bounding,
        "seconds": planning + building + bounding,
        "peak_mib": max(building_peak, mib("VmHWM")),
        "verifying_mib": mib("VmHWM") - before,
    }


def _bound(construction: Construction) -> ErrorBound:
    plan = construction.plan
    return derive_bound(construction.network, plan.target, construction.grid, plan.request.p, plan.request.tolerance)


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
