"""Acknowledgment: what the application settled reaches the broker, whole, grouped, and in time."""
