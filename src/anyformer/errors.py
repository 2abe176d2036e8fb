"""Every exception of the package; a leaf that imports nothing of it.

Messages say what must hold, what was got, and what to do. Only the errors of intervals are in their own folder: each
records itself in the run that it ends, so that a function that catches it gets no enclosure (`intervals/errors.py`).
"""

import math


class AnyformerError(Exception):
    """Anything that goes wrong and that a user can fix."""


class PatternError(AnyformerError):
    """An invalid pattern: wrong sizes, keys out of range, unknown names, or a broken promise."""


class NetworkError(AnyformerError):
    """A network whose arrays do not fit together."""


class TargetError(AnyformerError):
    """A function that is not what was declared: shape, finiteness, symmetry or modulus."""


class PlanError(AnyformerError):
    """A request that cannot be met: wrong in itself, too large, or in need of more bits than float64 has.

    Where a method refused, `refusal` has the reason and what would fit as data (`construction.refusal.Refusal`).
    """

    def __init__(self, message: str, refusal: object = None) -> None:
        super().__init__(message)
        self.refusal = refusal


class NotTraceable(AnyformerError):
    """A step of a function that no program can hold; the message says which, and what to write instead."""


class LeavesDomain(AnyformerError):
    """A function of one number may have no value somewhere on an interval."""


class NoCodes(PlanError):
    """No codes were found that fit into float64 and keep all inputs and tokens apart."""


class NoSlopes(AnyformerError):
    """A step of a function whose slopes are not known. It never leaves `intervals`: the values are known without."""


class CertificateError(AnyformerError):
    """A certificate that cannot be read or does not belong to the given network."""


class ToleranceMissed(CertificateError):
    """A network that was built, but whose proof does not reach the tolerance."""


class NotShown(CertificateError):
    """Something that the proof needs could not be shown: the verdict is undecided."""


class TooMuch(NotShown):
    """A proof that would cost more than the limits allow. It was not started."""

    def __init__(self, what: str, needed: float, allowed: float) -> None:
        super().__init__(what, needed, allowed)
        self.what, self.needed, self.allowed = what, needed, allowed

    def __str__(self) -> str:
        return f"the proof needs {_about(self.needed)} {self.what}, and {_about(self.allowed)} are allowed"


class ModelFileError(AnyformerError):
    """A model folder that is incomplete, inconsistent or damaged."""


class ExportError(AnyformerError):
    """A model that a format cannot hold, or of which it cannot say what was asked."""


class LabelError(AnyformerError):
    """Labels that cannot be given, or a file of labels that cannot be read."""


class ExplorerError(AnyformerError):
    """A page that cannot be made, or not there."""


class ZooError(AnyformerError):
    """A name that the zoo does not have, or a model of it that does not hold."""


class ParityError(AnyformerError):
    """Inputs or runtimes that cannot be compared as asked."""


class MixerError(AnyformerError):
    """A mixer that cannot be built or run as asked, or that breaks a promise all mixers make."""


class AttentionError(AnyformerError):
    """Sparse attention that was asked for in a way that cannot be: shapes, types, devices, models."""


class ContextualityError(AnyformerError):
    """Sequences or layers whose contexts cannot be compared."""


class WorkerError(AnyformerError):
    """Workers that cannot be reached, or that cannot be sent the work."""


class TrainingError(AnyformerError):
    """A corpus, recipe, checkpoint or label that cannot be trained with."""


class FolderError(ModelFileError, TrainingError):
    """A Hugging Face folder that is incomplete, or that names code, pickled weights or other places."""


class RunInUse(TrainingError):
    """A training run that another process is working on."""


class Interrupted(AnyformerError):
    """A training run that was stopped by its user."""


class UsageError(AnyformerError):
    """Options that do not go together, or input that cannot be read."""


class MissingPackageError(AnyformerError, ImportError):
    """A package of one of anyformer's optional extras that is not installed."""


def words_of(error: BaseException | str) -> str:
    """The message of an error without its final full stop, for use inside a sentence.

    >>> words_of(ValueError("too large."))
    'too large'
    """
    said = str(error).strip()
    return said.rstrip(".").rstrip() or type(error).__name__


def raised(error: BaseException) -> str:
    """An error with its type, as Python shows it, for use inside a sentence.

    >>> raised(ValueError("too large.")), raised(KeyError())
    ('ValueError: too large', 'KeyError')
    """
    name, said = type(error).__name__, words_of(error)
    return name if said == name else f"{name}: {said}"


def _about(count: float) -> str:
    return f"{count:,}" if count < 10**12 else f"about 2^{math.log2(count):.0f}"


class UncertifiedWarning(UserWarning):
    """What was just made has no certificate, although what it was made from has one."""
