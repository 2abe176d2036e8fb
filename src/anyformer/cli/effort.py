"""What a proof may cost: `--max-cells`, `--max-memory`, `--max-hours`, for every verb that plans, builds or proves."""

from typing import Annotated

import typer

from anyformer.certificates.bounds.effort import Effort
from anyformer.errors import UsageError

GIGABYTE = 1 << 30
HOUR = 3600.0

MaxCells = Annotated[int, typer.Option(metavar="N", help="Refuse a proof that has to visit more cells than this.")]
MaxMemory = Annotated[
    float, typer.Option(metavar="GB", help="Refuse a proof that needs more gigabytes than this in a process.")
]
MaxHours = Annotated[
    float, typer.Option(metavar="H", help="Refuse a proof that is expected to take one core more hours than this.")
]


def effort_of(max_cells: int, max_memory: float, max_hours: float) -> Effort:
    """The limits as a value."""
    if max_cells < 1:
        raise UsageError(f"--max-cells must be at least 1; got {max_cells}.")
    if not 0 < max_memory < 1e9:
        raise UsageError(f"--max-memory must be a number of gigabytes above 0; got {max_memory:g}.")
    if not max_hours > 0:
        raise UsageError(f"--max-hours must be above 0; got {max_hours:g}.")
    return Effort(max_cells, int(max_memory * GIGABYTE), max_hours * HOUR)
