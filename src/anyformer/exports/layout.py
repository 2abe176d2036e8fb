"""What a model folder holds, by name."""

CONFIG = "config.json"
TENSORS = "model.safetensors"
CERTIFICATE = "certificate.json"

# In the order they are written. The config comes last: a folder without one was never finished.
FILES = (TENSORS, CERTIFICATE, CONFIG)

# In the name of every folder that is being written or removed, and of no model.
PARTIAL = ".partial-"
