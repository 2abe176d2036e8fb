"""Paper B's copying task: sequences 0s0s whose second half is hidden, over sparsity patterns and depths."""
