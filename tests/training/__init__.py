"""Those of tokenizers are skipped where transformers is not installed, those of the hub where datasets is not."""

import os

# Before the libraries are imported: nothing here may ask the network.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
