"""A run of any task: its recipe, its loop, its processes, and the folder it can be resumed from."""
