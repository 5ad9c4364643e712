"""Mutants of the requirements of chapter `seek`."""
