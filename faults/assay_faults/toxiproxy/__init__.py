"""Faults of bytes, by a real toxiproxy server between clients and brokers."""
