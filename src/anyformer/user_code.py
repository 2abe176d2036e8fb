"""Python code that a user names: a file or a module, imported when it is asked for."""

import contextlib
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from anyformer.errors import AnyformerError, raised


@dataclass(frozen=True)
class Named:
    """What the user wrote, and what messages say if it cannot be imported."""

    spec: str
    form: str
    """How it is written, as the last sentence of messages."""
    error: type[AnyformerError]

    def load(self, place: str) -> ModuleType:
        """The module at `path/to/file.py` or `package.module`.

        The file's folder, or the working directory for a module, is importable while the code is executed and not
        after; imports inside functions see the usual search path only. A file is executed every time.
        """
        is_file = place.endswith(".py") or "/" in place or os.sep in place
        return self._from_file(Path(place)) if is_file else self._from_module(place)

    def _from_file(self, path: Path) -> ModuleType:
        if not path.is_file():
            raise self.error(
                f"{self.spec!r} must name an existing Python file; there is none at {str(path)!r}. {self.form}"
            )
        path = path.resolve()
        # A private name: a file called numpy.py or json.py must not take the place of the real one.
        digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        private = f"_anyformer_user_code_{digest}"
        found = importlib.util.spec_from_file_location(private, path)
        if found is None or found.loader is None:
            raise self.error(f"{self.spec!r} must name a Python file; {path.name!r} has no .py ending. Rename it.")
        module = importlib.util.module_from_spec(found)
        with _importable(path.parent), self._blaming():
            sys.modules[private] = module  # dataclasses look their own module up while it is being executed
            try:
                found.loader.exec_module(module)
            except BaseException:
                sys.modules.pop(private, None)
                raise
        return module

    def _from_module(self, place: str) -> ModuleType:
        with _importable(Path.cwd()), self._blaming():
            return importlib.import_module(place)

    @contextlib.contextmanager
    def _blaming(self) -> Iterator[None]:
        try:
            yield
        except (Exception, SystemExit) as error:  # a script that calls sys.exit() must not end this process
            raise self.error(
                f"{self.spec!r} must be importable; importing it raised {raised(error)}."
                f" Fix the code, or name another. {self.form}"
            ) from error


@contextlib.contextmanager
def _importable(folder: Path) -> Iterator[None]:
    entry = str(folder)
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        # The code may have changed the path itself; only our own entry is removed.
        if entry in sys.path:
            sys.path.remove(entry)
