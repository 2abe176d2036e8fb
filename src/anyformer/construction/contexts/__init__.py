"""Context maps: how quantised columns become ids that are different for every token of every input."""
