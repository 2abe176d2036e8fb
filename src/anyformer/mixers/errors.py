"""What goes wrong with mixers."""

from anyformer.errors import AnyformerError


class MixerError(AnyformerError):
    """A mixer that cannot be built or run as asked, or that breaks a promise all mixers make."""
