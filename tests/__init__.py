"""What libraries must be told before the first of them is imported, here and in every process that a test starts."""

import os

# Tests run side by side, one a core, and their arrays are small: threads that wait for each other only cost time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Nothing here may ask the network.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
