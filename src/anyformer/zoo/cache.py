"""Where models of the zoo are kept. Nothing there is trusted: what is read is verified like any stranger's file."""

import os
import shutil
from pathlib import Path

from anyformer.errors import AnyformerError
from anyformer.model import Model, load
from anyformer.zoo.recipe import Recipe

CACHE_VARIABLE = "ANYFORMER_CACHE"


def cache_folder() -> Path:
    """$ANYFORMER_CACHE, else anyformer in $XDG_CACHE_HOME or ~/.cache; models by the version that built them."""
    from anyformer import __version__

    own, general = os.environ.get(CACHE_VARIABLE), os.environ.get("XDG_CACHE_HOME")
    # The XDG rules have relative paths ignored.
    base = Path(general) if general and Path(general).is_absolute() else Path.home() / ".cache"
    return (Path(own) if own else base / "anyformer") / "zoo" / __version__


def folder_of(recipe: Recipe) -> Path:
    """Where the model of a recipe is kept; another recipe of the same name has another folder."""
    return cache_folder() / f"{recipe.name}-{recipe.digest}"


def fetch(recipe: Recipe) -> Model | None:
    """What the cache holds, unverified; None if it holds nothing that can be read."""
    try:
        return load(folder_of(recipe))
    # A damaged entry is no entry: it is built again.
    except (AnyformerError, OSError, MemoryError):
        return None


def keep(recipe: Recipe, model: Model) -> None:
    """Put a model into the cache, in one step. A cache that cannot be written to is no reason to fail."""
    folder = folder_of(recipe)
    try:
        model.save(folder, overwrite=True)
    except (AnyformerError, OSError):
        forget(recipe)
        try:
            model.save(folder, overwrite=True)
        # Another process was faster, or nothing can be written here.
        except (AnyformerError, OSError):
            return


def forget(recipe: Recipe) -> None:
    """Remove an entry, whatever is in it: the cache is ours alone."""
    folder = folder_of(recipe)
    if folder.is_symlink() or folder.is_file():
        folder.unlink(missing_ok=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
