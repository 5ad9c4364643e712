"""Deduplication: what a broker remembers of a producer name, and what a client does with the answers."""
