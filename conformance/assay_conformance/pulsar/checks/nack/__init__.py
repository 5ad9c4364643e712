"""Negative acknowledgment: what the application refused is asked for again, whole, and at its time."""
