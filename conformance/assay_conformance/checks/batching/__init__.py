"""Batching: when an open batch closes, what its entry says, and what its receipt means."""
