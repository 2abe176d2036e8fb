"""A comparison of mixers that would pass review: pairs split without leaks, baselines beside the models, intervals."""
