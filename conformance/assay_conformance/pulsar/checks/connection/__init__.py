"""Connections: the handshake, pings, requests and their answers, and lookups."""
