"""How a list of neighbours is executed: tiles of queries that share keys, and single rows."""
