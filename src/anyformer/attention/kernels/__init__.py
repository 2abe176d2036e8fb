"""The loops of sparse attention, compiled by Numba from LLVM instructions on whole vectors."""
