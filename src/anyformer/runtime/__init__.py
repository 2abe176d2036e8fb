"""Running it fast."""

from anyformer.runtime.skipping import run

__all__ = ["run"]
