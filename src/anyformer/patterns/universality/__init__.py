"""Is a Transformer with this pattern a universal approximator: each condition with a witness, and a repair if not."""
