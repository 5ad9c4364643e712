"""Mutants of the requirements of chapter `throttling`."""
