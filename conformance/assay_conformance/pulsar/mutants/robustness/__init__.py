"""Mutants of the requirements of chapter `robustness`."""
