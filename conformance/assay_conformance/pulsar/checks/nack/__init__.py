"""Negative acknowledgment: what the application nacked is asked for again, whole, and at its time."""
