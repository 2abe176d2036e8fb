"""Associative recall: which mixers can and cannot, as data, as tables, and as a picture."""
