"""Which classes of mixers have names: what was registered, and what installed packages announce."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import EntryPoint, distributions
from typing import Any, Final, TypeVar

from anyformer.errors import MixerError, raised

GROUP: Final = "anyformer.mixers"
"""The entry-point group in which packages announce mixers: `fnet = "package.module:FNet"`."""
KIND: Final = "kind"
"""The key of a mixer's name in its JSON object."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class Announced:
    """A mixer that an installed package says it has; its code is imported when it is asked for."""

    package: str
    point: EntryPoint

    def load(self) -> type:
        """The class; MixerError if the package is broken."""
        try:
            found: type = self.point.load()
        except (Exception, SystemExit) as error:  # other people's code may raise anything
            raise MixerError(f"{self.what} must be importable; importing it raised {raised(error)}. {_MEND}") from error
        return found

    @property
    def what(self) -> str:
        """It and its package, as the subject of a message."""
        return f"the mixer {self.point.name!r}, which the package {self.package!r} announces as {self.point.value},"


_MEND = "Mend the package, or uninstall it."


@dataclass(frozen=True, eq=False)
class Registry(Mapping[str, type]):
    """Classes by name, those that were registered first. Nobody's code is imported to list the names."""

    registered: dict[str, type] = field(default_factory=dict)

    def register(self, name: str, kind: Class) -> Class:
        """Give a class a name; the same class again changes nothing, and a newer version of it takes its place."""
        _require_name(name)
        _require_mixer(kind)
        there = self.registered.get(name)
        if there is not None and not _same(there, kind):
            raise MixerError(
                f"a name must stand for one mixer; {name!r} is {_place(there)}, and got {_place(kind)}."
                " Choose another name: saved models find their mixers by it."
            )
        other = self.registered_name(kind)
        if other not in (None, name):
            raise MixerError(f"a mixer must have one name; {_place(kind)} is {other!r}, and got {name!r}. Keep one.")
        self.registered[name] = kind
        return kind

    def registered_name(self, kind: type) -> str | None:
        """The name under which exactly this class was registered."""
        return next((name for name, each in self.registered.items() if each is kind), None)

    def name_of(self, kind: type) -> str | None:
        """The name of a class, also if its package, which is imported already, announces it."""
        found = self.registered_name(kind)
        if found is None:
            package = kind.__module__.partition(".")[0]
            for name, (first, *_) in announced().items():
                if first.point.module.partition(".")[0] == package and name not in self.registered:
                    self[name]
        return found or self.registered_name(kind)

    def __getitem__(self, name: str) -> type:
        if name in self.registered:
            return self.registered[name]
        first, *others = announced()[name]
        if others:
            packages = ", ".join(repr(one.package) for one in (first, *others))
            raise MixerError(
                f"a name must stand for one mixer; {name!r} is announced by the packages {packages}."
                " Uninstall all but one of them, or register the one you mean."
            )
        kind = first.load()
        try:
            return self.register(name, kind)
        except MixerError as error:
            raise MixerError(f"{first.what} cannot be registered: {error} {_MEND}") from error

    def __iter__(self) -> Iterator[str]:
        return iter({**self.registered, **announced()})

    def __len__(self) -> int:
        return len({**self.registered, **announced()})


def announced() -> dict[str, list[Announced]]:
    """What the packages that are installed now announce, by name; broken metadata of one hides no other."""
    found: dict[str, list[Announced]] = {}
    packages = set()
    for distribution in distributions():
        try:
            points = [point for point in distribution.entry_points if point.group == GROUP]
            package = str(distribution.name) if points else ""
        except Exception:  # not even its list of entry points can be read, so it announces nothing
            continue
        # The first of two versions on the search path is the one that is imported.
        if package not in packages:
            for point in points:
                found.setdefault(point.name.replace("_", "-"), []).append(Announced(package, point))
        packages |= {package} - {""}
    return found


def _require_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise MixerError(
            "the name of a mixer must be lower-case letters and digits, with hyphens between words, such as"
            f" 'my-mixer'; got {name!r}. Choose such a name."
        )


def _require_mixer(kind: object) -> None:
    """What a config needs to hold its values, and a model to build its modules."""
    if not isinstance(kind, type):
        raise MixerError(f"what is registered must be a class; got {kind!r:.200}. Give the class itself, not a value.")
    made = vars(kind).get("__dataclass_params__")  # its own: fields of an undecorated subclass are not looked at
    if made is None or not made.frozen or not made.eq:
        raise MixerError(
            f"a mixer must be a frozen dataclass, which compares and does not change; {_place(kind)} is not."
            " Write @dataclass(frozen=True) above it."
        )
    build = getattr(kind, "build", None)
    if not callable(build) or inspect.isabstract(kind) or not _takes_width_and_dropout(build):
        raise MixerError(
            f"a mixer must have build(self, width, dropout=0.0), which gives the module; {_place(kind)} has"
            f" {'none' if not callable(build) else inspect.signature(build)}. Write it so."
        )
    if KIND in {one.name for one in fields(kind)}:
        raise MixerError(f"a field of a mixer must not be called {KIND!r}, which holds its name; rename it.")


def _takes_width_and_dropout(build: Any) -> bool:
    try:
        inspect.signature(build).bind(None, 6, 0.0)
        inspect.signature(build).bind(None, width=6)
    except TypeError:
        return False
    return True


def _same(there: type, kind: type) -> bool:
    """Whether one is the other, or a newer version of it: a cell of a notebook or a file was run again."""
    return there is kind or _place(there) == _place(kind)


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
