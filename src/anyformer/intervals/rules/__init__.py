"""The rules: for every supported function, how the values for all members of an interval are enclosed."""
