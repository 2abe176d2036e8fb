"""A comparison of mixers: pairs split without leaks, baselines beside the models, intervals."""
