"""Producers: their names, access modes, flush and close."""
