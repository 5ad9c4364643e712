"""Mutants of the requirements of chapter `chunking`."""
