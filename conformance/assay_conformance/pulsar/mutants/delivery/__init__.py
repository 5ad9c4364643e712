"""Mutants of the requirements of chapter `delivery`."""
