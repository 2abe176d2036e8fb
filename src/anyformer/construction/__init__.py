"""Building it: plan, quantise, contextual map, value map, soften."""
