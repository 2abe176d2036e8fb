"""What a model folder holds, by name."""

CONFIG = "config.json"
TENSORS = "model.safetensors"
CERTIFICATE = "certificate.json"

# In the order they are written. The config comes last: a folder without one was never finished.
FILES = (TENSORS, CERTIFICATE, CONFIG)

# In the name of every folder that is being written or removed, and of no model.
PARTIAL = ".partial-"

# JSON files above this are refused before they are read, for a parser needs many times their size.
MAX_JSON_BYTES = 256 * 2**20
