"""What goes wrong with patterns."""

from anyformer.errors import AnyformerError


class PatternError(AnyformerError):
    """A pattern that is not one: wrong sizes, keys out of range, unknown names, or a promise not kept."""
