"""Things by name: one way to list them, to look one up, and to read one as it is typed on a command line."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from anyformer.errors import AnyformerError
from anyformer.settings import Value, settings_of, split_name, value_of

Made = TypeVar("Made")
_NO_DEFAULT = inspect.Parameter.empty


@dataclass(frozen=True, eq=False)
class Catalogue(Mapping[str, Callable[..., Made]], Generic[Made]):
    """Constructors by name: a mapping that is listed as it was written. Lookups take `mean_scale` for `mean-scale`.

    >>> shapes = Catalogue("shape", {"unit-box": lambda axes=2: (0, 1) * axes}, AnyformerError)
    >>> shapes.parse("unit_box:axes=1")
    (0, 1)
    >>> shapes.make("unitbox")
    Traceback (most recent call last):
    anyformer.errors.AnyformerError: a shape must be one of unit-box; got 'unitbox'. Did you mean 'unit-box'?
    """

    what: str
    """What its things are, in messages: "pattern"."""
    constructors: Mapping[str, Callable[..., Made]]
    error: type[AnyformerError]
    """Raised for unknown names and parameters."""
    sizes: tuple[str, ...] = ()
    """Arguments that every constructor takes, such as tokens; they are not parameters of one thing."""
    advice: str = ""
    """What to do if none of the names is the right one."""

    def __getitem__(self, name: str) -> Callable[..., Made]:
        if not isinstance(name, str):  # it may come from a JSON file
            raise KeyError(name)
        return self.constructors[_with_hyphens(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.constructors)

    def __len__(self) -> int:
        return len(self.constructors)

    def make(self, name: str, /, *sizes: Any, **parameters: Any) -> Made:
        """The thing of this name.

        Raises:
            AnyformerError: the catalogue's `error`, with the names or parameters that exist.
        """
        if name not in self:
            hint = did_you_mean(str(name), self)
            advice = f" {self.advice}" if self.advice else ""
            raise self.error(f"a {self.what} must be one of {', '.join(self)}; got {name!r}.{hint}{advice}")
        self._check_parameters(_with_hyphens(name), parameters)
        return self[name](*sizes, **parameters)

    def parse(self, text: str, *sizes: Any) -> Made:
        """A name with parameters as on a command line: `strided:stride=4`, or `entmax:1.5` if it has only one."""
        name, parameters = self.read(text)
        return self.make(name, *sizes, **parameters)

    def read(self, text: str) -> tuple[str, dict[str, Value]]:
        """The name and the parameters that are written on a command line, before anything is made of them."""
        name, settings = split_name(text)
        taken = list(self.parameters(name)) if name in self else []
        if len(taken) == len(settings) == 1 and "=" not in settings[0]:
            return name, {taken[0]: value_of(settings[0])}
        return name, self._settings(name, settings, taken)

    def parameters(self, name: str) -> dict[str, Any]:
        """The parameters that a thing takes, with their defaults."""
        taken = inspect.signature(self[name]).parameters.values()
        named = (one for one in taken if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD))
        return {one.name: one.default for one in named if one.name not in self.sizes}

    def descriptions(self) -> dict[str, str]:
        """One line about every thing, by name."""
        return {name: (inspect.getdoc(made) or "").partition("\n")[0] for name, made in self.items()}

    def _settings(self, name: str, settings: list[str], taken: list[str]) -> dict[str, Value]:
        example = f"{name}:{taken[0]}=…" if taken else "name:key=value"
        return settings_of(settings, example, self.error)

    def _check_parameters(self, name: str, given: Mapping[str, Any]) -> None:
        taken = self.parameters(name)
        for parameter in given:
            if parameter not in taken:
                listed = f"no parameters but {', '.join(taken)}" if taken else "no parameters"
                hint = did_you_mean(parameter, taken) or " Leave it out."
                raise self.error(f"the {self.what} {name!r} must get {listed}; got {parameter!r}.{hint}")
        missing = [each for each, default in taken.items() if default is _NO_DEFAULT and each not in given]
        if missing:
            raise self.error(
                f"the {self.what} {name!r} must get {', '.join(missing)}; got none. Write {name}:{missing[0]}=VALUE."
            )


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The name that is spelled most like this one, as a question; nothing if none is near.

    >>> did_you_mean("slidingwindow", ["strided", "sliding-window"])
    " Did you mean 'sliding-window'?"
    """
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _with_hyphens(name: str) -> str:
    return name.replace("_", "-")
