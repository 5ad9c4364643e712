"""Mutants of the requirements of chapter `dedup`."""
