"""Throttling: how fast a broker dispatches messages, and how it slows down producers."""
