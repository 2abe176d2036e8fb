"""Hamiltonian paths and smallest path covers by OR-Tools' CP-SAT; an optional extra, imported at the first call."""

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from anyformer.arrays import Integers
from anyformer.errors import MissingPackageError, words_of
from anyformer.extras import require
from anyformer.patterns.neighbours import Neighbours

NAME: Final = "OR-Tools CP-SAT"
MOST_ARCS: Final = 200_000  # beyond, the model alone takes seconds, and nothing is found in ten more


@final
@dataclass(frozen=True, eq=False)
class Cover:
    """Paths that visit every token once, and whether fewer are proved impossible."""

    paths: tuple[Integers, ...]
    proved_smallest: bool


@final
@dataclass(frozen=True)
class Undecided:
    """No answer, and why."""

    reason: str


def hamiltonian_path(neighbours: Neighbours, seconds: float) -> Integers | Undecided | None:
    """All tokens in an order in which each sees the one before; None if there is proved to be no such order.

    Args:
        neighbours: which keys each query sees; self-loops do not matter.
        seconds: when to give up.
    """
    problem = _problem(neighbours, seconds)
    if isinstance(problem, Undecided):
        return problem
    problem.model.add_circuit(problem.arcs)
    status = problem.solver.solve(problem.model)
    if status == problem.cp_model.INFEASIBLE:
        return None
    if status not in (problem.cp_model.OPTIMAL, problem.cp_model.FEASIBLE):
        return Undecided(f"{NAME} found neither a path nor a proof in {seconds:g} s; give it more seconds")
    return problem.paths()[0]


def smallest_cover(neighbours: Neighbours, seconds: float) -> Cover | Undecided:
    """As few paths as found that together visit every token once; arguments as of `hamiltonian_path`."""
    problem = _problem(neighbours, seconds)
    if isinstance(problem, Undecided):
        return problem
    problem.model.add_multiple_circuit(problem.arcs)
    problem.model.minimize(sum(used for before, _, used in problem.arcs if before == 0))
    status = problem.solver.solve(problem.model)
    if status not in (problem.cp_model.OPTIMAL, problem.cp_model.FEASIBLE):
        return Undecided(f"{NAME} found no cover in {seconds:g} s; give it more seconds")
    return Cover(tuple(problem.paths()), status == problem.cp_model.OPTIMAL)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Token k is node k + 1; node 0 stands between the end of a path and the start of the next."""

    cp_model: Any
    model: Any
    solver: Any
    arcs: list[tuple[int, int, Any]]

    def paths(self) -> list[Integers]:
        """The routes from node 0 back to it."""
        used = [(before, after) for before, after, literal in self.arcs if self.solver.boolean_value(literal)]
        following = {before: after for before, after in used if before}
        return [_route(first, following) for before, first in used if not before]


def _route(node: int, following: dict[int, int]) -> Integers:
    route = []
    while node:
        route.append(node - 1)
        node = following[node]
    return np.array(route, dtype=np.int64)


def _problem(neighbours: Neighbours, seconds: float) -> _Problem | Undecided:
    if neighbours.connections > MOST_ARCS:
        return Undecided(f"{neighbours.connections:,} connections are more than the {MOST_ARCS:,} given to {NAME}")
    try:
        cp_model = require("ortools.sat.python.cp_model", extra="patterns", what=f"{NAME} to look for one")
    except MissingPackageError as missing:
        return Undecided(words_of(missing))
    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    # One worker with a fixed seed: the same question gets the same answer, as far as time allows.
    solver.parameters.num_workers, solver.parameters.random_seed = 1, 0
    # With its linear relaxations: four cliques that meet in two tokens are refuted in 10 ms, without them not in 20 s.
    solver.parameters.linearization_level = 2
    pairs = zip(neighbours.indices.tolist(), neighbours.queries().tolist(), strict=True)
    ends = ((0, token + 1) for token in range(neighbours.tokens))
    starts = ((token + 1, 0) for token in range(neighbours.tokens))
    arcs = [*((key + 1, query + 1) for key, query in pairs if key != query), *ends, *starts]
    return _Problem(cp_model, model, solver, [(one, two, model.new_bool_var("")) for one, two in arcs])
