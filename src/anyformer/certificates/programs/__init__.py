"""Proofs for compiled programs: what each channel of the stream is, and how far from what it should be."""
