"""The verbs: each one a function of the package, with its options."""
