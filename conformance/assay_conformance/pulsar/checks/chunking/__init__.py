"""Chunking: a large message is sent in chunks that fit into frames, and is received whole or not at all."""
