"""Slopes of functions on boxes: how a value differs from the value at the centre, input by input."""
