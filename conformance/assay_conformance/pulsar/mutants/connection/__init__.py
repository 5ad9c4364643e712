"""Clients that break requirements of the chapter connection."""
