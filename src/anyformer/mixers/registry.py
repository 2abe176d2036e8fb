"""Which classes of mixers have names: what was registered, and what installed packages announce."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeVar

from anyformer.errors import MixerError
from anyformer.installed import MEND, MIXERS, announced
from anyformer.mixers.mixer import Mixer

KIND: Final = "kind"
"""The key of a mixer's name in its JSON object."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

Class = TypeVar("Class", bound=type)


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
        _complete(kind)
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
            for name, (first, *_) in announced(MIXERS).items():
                if first.point.module.partition(".")[0] == package and name not in self.registered:
                    self[name]
        return found or self.registered_name(kind)

    def __getitem__(self, name: str) -> type:
        if name in self.registered:
            return self.registered[name]
        first, *others = announced(MIXERS)[name]
        if others:
            packages = ", ".join(repr(one.package) for one in (first, *others))
            raise MixerError(
                f"a name must stand for one mixer; {name!r} is announced by the packages {packages}."
                " Uninstall all but one of them, or register the one you mean."
            )
        kind = first.load(MixerError)
        try:
            return self.register(name, kind)
        except MixerError as error:
            raise MixerError(f"{first.what} cannot be registered: {error} {MEND}") from error

    def __iter__(self) -> Iterator[str]:
        return iter({**self.registered, **announced(MIXERS)})

    def __len__(self) -> int:
        return len({**self.registered, **announced(MIXERS)})


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


def _complete(kind: type) -> None:
    """Make a class that has `build` alone a Mixer: it gets what Mixer has besides."""
    if not issubclass(kind, Mixer):
        for name, member in vars(Mixer).items():
            if not name.startswith("_") and not hasattr(kind, name):
                setattr(kind, name, member)
        Mixer.register(kind)


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
