"""Mutants of the requirements of chapter `resend`."""
