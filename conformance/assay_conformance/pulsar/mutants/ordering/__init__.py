"""Mutants of the requirements of chapter `ordering`."""
