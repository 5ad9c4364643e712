"""Mutants of the requirements of chapter `schema`."""
