"""From a program to a Transformer: which steps when, how exactly each, and with which weights."""
