"""Rules of functions that bring the entries along axes together."""
