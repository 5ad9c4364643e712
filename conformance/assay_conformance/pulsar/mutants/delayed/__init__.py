"""Mutants of the requirements of chapter `delayed`."""
