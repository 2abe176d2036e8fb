"""What installed packages announce as entry points; nobody's code is imported before it is asked for."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint, distributions
from typing import Any, Final

from anyformer.errors import AnyformerError, raised

MIXERS: Final = "anyformer.mixers"
"""The group in which packages announce mixers: `fnet = "package.module:FNet"`."""
MEND: Final = "Mend the package, or uninstall it."


@dataclass(frozen=True)
class Announced:
    """One thing that a package says it has."""

    package: str
    point: EntryPoint

    def load(self, error: type[AnyformerError]) -> Any:
        """The thing itself; the given error if the package is broken."""
        try:
            return self.point.load()
        except (Exception, SystemExit) as wrong:  # other people's code may raise anything
            raise error(f"{self.what} must be importable; importing it raised {raised(wrong)}. {MEND}") from wrong

    @property
    def what(self) -> str:
        """It and its package, as the subject of a message."""
        return f"{self.point.name!r}, which the package {self.package!r} announces as {self.point.value},"


def announced(group: str) -> dict[str, list[Announced]]:
    """What the packages that are installed now announce in a group, by name; a broken package hides no other.

    >>> announced("no.such.group")
    {}
    """
    found: dict[str, list[Announced]] = {}
    packages = set()
    for distribution in distributions():
        try:
            points = [point for point in distribution.entry_points if point.group == group]
            package = str(distribution.name) if points else ""
        except Exception:  # not even its list of entry points can be read, so it announces nothing
            continue
        # The first of two versions on the search path is the one that is imported.
        if package not in packages:
            for point in points:
                found.setdefault(point.name.replace("_", "-"), []).append(Announced(package, point))
        packages |= {package} - {""}
    return found
