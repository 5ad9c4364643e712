"""Mutants of the requirements of chapter `producer`."""
