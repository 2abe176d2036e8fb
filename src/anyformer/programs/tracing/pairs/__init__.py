"""Arrays over several token axes: what their entries are, and how they become numbers of single tokens again."""
