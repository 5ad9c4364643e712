"""Batching: when an open batch closes, why it left, what its entry says, and what its receipt means."""
