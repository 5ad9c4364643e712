"""Seeks: where a consumer goes on, what it sends to the broker, and whether a reader has more messages."""
