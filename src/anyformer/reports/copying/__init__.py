"""The copying task: what was copied, as data, as tables beside the paper's finding, and as pictures."""
