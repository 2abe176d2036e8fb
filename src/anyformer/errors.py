"""Every exception of the package; a leaf that imports nothing.

Messages say what must hold, what was got, and what to do.
"""


class AnyformerError(Exception):
    """Whatever goes wrong that a user can mend."""


class PatternError(AnyformerError):
    """A pattern that is not one: wrong sizes, keys out of range, unknown names, or a promise not kept."""


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


class NoCodes(PlanError):
    """Inputs and tokens that no whole numbers of float64's bits were found to keep apart."""


class CertificateError(AnyformerError):
    """A certificate that cannot be read or does not speak of the network at hand."""


class ToleranceMissed(CertificateError):
    """A network that was built, but whose proof does not reach the tolerance."""


class ModelFileError(AnyformerError):
    """A model folder that is incomplete, inconsistent or damaged."""


class MixerError(AnyformerError):
    """A mixer that cannot be built or run as asked, or that breaks a promise all mixers make."""


class WorkerError(AnyformerError):
    """Workers that are not there, or cannot be given the work."""


class TrainingError(AnyformerError):
    """A corpus, recipe, checkpoint or label that cannot be trained with."""


class MissingPackageError(AnyformerError, ImportError):
    """A package that an extra of anyformer installs, and that is not there."""


def words_of(error: BaseException | str) -> str:
    """What an error says, to stand within a sentence of ours: without a full stop of its own at the end.

    >>> words_of(ValueError("too large."))
    'too large'
    """
    said = str(error).strip()
    return said.rstrip(".").rstrip() or type(error).__name__


def raised(error: BaseException) -> str:
    """An error with its type, as Python shows it, to stand within a sentence of ours.

    >>> raised(ValueError("too large.")), raised(KeyError())
    ('ValueError: too large', 'KeyError')
    """
    name, said = type(error).__name__, words_of(error)
    return name if said == name else f"{name}: {said}"
