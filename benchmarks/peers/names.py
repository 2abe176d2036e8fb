"""What those who compute attention are called, in results and on pages."""

from typing import Final

OURS: Final = "ours"
GATHER: Final = "ours, block gather"
DENSE: Final = "SDPA, dense"
MASKED: Final = "SDPA, mask"
FLEX: Final = "FlexAttention"
LONGFORMER: Final = "Longformer (HF)"
BIG_BIRD: Final = "BigBird (HF)"
LOCAL: Final = "local-attention"
