"""The comparison of mixers as data, as tables and as pictures."""
