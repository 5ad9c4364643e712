"""Mutants of the requirements of chapter `subscription`."""
