"""Those of tokenizers are skipped where transformers is not installed, those of the hub where datasets is not."""
