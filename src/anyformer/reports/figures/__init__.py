"""Figures of a model and the short report around them, for papers and slides."""
