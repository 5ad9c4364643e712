"""Compression: every client can read what any other wrote, and does not trust an impossible uncompressed size."""
