"""Routing: which partition of a topic a message goes to."""
