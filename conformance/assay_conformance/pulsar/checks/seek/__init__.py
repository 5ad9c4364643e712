"""Seeks: where a consumer goes on, what it tells the broker of it, and what a reader says is left to read."""
