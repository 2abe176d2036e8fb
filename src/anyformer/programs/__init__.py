"""Functions as programs: a NumPy function traced into steps that a Transformer can do, one node each."""
