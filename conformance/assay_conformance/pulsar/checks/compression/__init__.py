"""Compression: every client can read what any other wrote, and a size that cannot be is not believed."""
