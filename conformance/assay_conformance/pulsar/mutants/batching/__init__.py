"""Mutants of the requirements of chapter `batching`."""
