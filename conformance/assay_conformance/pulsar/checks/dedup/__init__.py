"""Deduplication: what a broker remembers of a producer name, and a client that goes along with it."""
