"""Batch receive: several messages by one call, under limits."""
