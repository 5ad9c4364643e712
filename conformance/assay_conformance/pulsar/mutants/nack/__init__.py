"""Mutants of the requirements of chapter `nack`."""
