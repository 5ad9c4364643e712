"""Mutants of the requirements of chapter `ack`."""
