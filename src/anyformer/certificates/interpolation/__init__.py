"""Piecewise-linear interpolants compared with their targets, everywhere."""
