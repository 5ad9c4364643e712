"""Throttling: how fast a broker hands out messages, and how it slows a producer down."""
