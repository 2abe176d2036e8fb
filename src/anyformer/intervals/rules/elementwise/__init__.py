"""Rules of functions that work entry by entry."""
