"""JSON read strictly: every key once, finite numbers, floats that lose no bit, or an error that names the place."""

from anyformer.strict_json.floats import float_from_hex, from_hex, tagged, to_hex
from anyformer.strict_json.reading import MAX_BYTES, loads, read

__all__ = ["MAX_BYTES", "float_from_hex", "from_hex", "loads", "read", "tagged", "to_hex"]
