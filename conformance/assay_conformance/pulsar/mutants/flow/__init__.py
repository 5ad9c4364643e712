"""Mutants of the requirements of chapter `flow`."""
