"""A synthetic language with far agreement and lookup, drawn from a seed: text to train on without a network."""
