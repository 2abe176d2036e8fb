"""Plans: all sizes of a network before it is built, whether it fits, and what would fit instead."""
