"""The command line: verb → function, nothing else."""
