"""A model of the zoo: from the cache or built, and proved in either case before anybody gets it."""

from dataclasses import dataclass, replace
from pathlib import Path

from anyformer.certificates.checker import Verdict, Verification
from anyformer.certificates.claims.declaration import Declaration
from anyformer.errors import ModelFileError, ZooError
from anyformer.exports.layout import FILES
from anyformer.labels import FILE, labels_of
from anyformer.model import Model
from anyformer.networks.dtypes import DType
from anyformer.workers import Progress, enter
from anyformer.zoo import cache
from anyformer.zoo.catalogue import recipe as recipe_of
from anyformer.zoo.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Specimen:
    """A verified model of the zoo, its recipe, what the checker said, and whether it was built just now."""

    recipe: Recipe
    model: Model
    verification: Verification
    is_new: bool


def load(name: str, dtype: DType | str | None = None, progress: Progress | None = None) -> Model:
    """The model of this name: built, or taken from the cache; verified in either case.

    Args:
        name: one of `recipes()`.
        dtype: another type than float64, if the model is offered in it: then the proof is about the program in that
            type too.
        progress: called with (done, total) while it is proved.

    >>> import anyformer as af
    >>> af.zoo.load("mean-scale-3").certificate.tolerance
    0.01
    """
    return specimen(name, dtype, progress).model


def specimen(name: str, dtype: DType | str | None = None, progress: Progress | None = None) -> Specimen:
    """The same with all that is known about it."""
    recipe = _recipe(name, dtype)
    kept = cache.fetch(recipe)
    if kept is not None and _is_what_was_asked(kept, recipe):
        known = replace(kept, target=recipe.target())
        enter(progress, "proving")
        verification = known.verify(progress=progress)
        if verification.verdict is Verdict.PROVED:
            return Specimen(recipe, known, verification, is_new=False)
    return _made(recipe, progress)


def _recipe(name: str, dtype: DType | str | None) -> Recipe:
    found = recipe_of(name)
    return found if dtype is None else found.in_dtype(dtype)


def _made(recipe: Recipe, progress: Progress | None) -> Specimen:
    model = recipe.build(progress)
    enter(progress, "proving")
    verification = model.verify(progress=progress)
    if verification.verdict is not Verdict.PROVED or not _is_what_was_asked(model, recipe):
        raise ZooError(
            f"the model {recipe.name!r} must be proved as its recipe states; the verdict is "
            f"{verification.verdict.name.lower()}. Please report this: a recipe of this version does not hold."
        )
    cache.keep(recipe, model)
    return Specimen(recipe, model, verification, is_new=True)


def _is_what_was_asked(model: Model, recipe: Recipe) -> bool:
    """Whether a certificate claims what the recipe promises. Whether the claim holds is for the checker."""
    claimed, wanted = model.certificate, Declaration.of(recipe.target())
    # A proof by steps states no modulus.
    return (
        replace(claimed.target, modulus=None) == replace(wanted, modulus=None)
        and claimed.target.modulus in (None, wanted.modulus)
        and claimed.p == recipe.p
        and claimed.certified_error <= claimed.tolerance <= recipe.tolerance
        and claimed.construction.get("method") == recipe.method
        and model.network.dtype.name == recipe.dtype
        and (model.network.pattern is None) == (recipe.pattern is None)
    )


def get(
    name: str,
    folder: str | Path,
    dtype: DType | str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Specimen:
    """Write a model of the zoo to a folder, with its labels beside it in labels.json."""
    place = Path(folder)
    # Before anything is built: nothing should be found out too late.
    _recipe(name, dtype)
    _check_place(place, overwrite)
    found = specimen(name, dtype, progress)
    labels = labels_of(found.model)
    (place / FILE).unlink(missing_ok=True)
    found.model.save(place, overwrite)
    labels.save(place / FILE)
    return found


def _check_place(folder: Path, overwrite: bool) -> None:
    """Refuse, before anything is built or removed, a place that holds anything but a model and its labels."""
    held = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if held and not overwrite:
        raise ModelFileError(
            f"{folder} must be a new or empty folder; it holds files. Pass overwrite to replace a model."
        )
    if held - {FILE} != set(FILES) and held:
        foreign = ", ".join(sorted(held - {FILE, *FILES})[:10]) or "not all files of a model"
        raise ModelFileError(
            f"{folder} must hold a model to overwrite, and nothing else; it holds {foreign}. Choose another folder."
        )
