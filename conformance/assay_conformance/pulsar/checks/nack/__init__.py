"""Negative acknowledgment: what the application nacked is requested again, whole, and at its time."""
