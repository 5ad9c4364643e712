"""Mutants of the requirements of chapter `topics`."""
