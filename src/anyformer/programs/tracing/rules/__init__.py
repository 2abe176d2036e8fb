"""What NumPy's functions do to traced arrays."""
