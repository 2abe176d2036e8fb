"""What a network will be before it is built, whether it fits, and what would fit instead."""
