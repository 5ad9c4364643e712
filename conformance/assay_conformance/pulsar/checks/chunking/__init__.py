"""Chunking: a large message leaves as chunks that fit, and arrives as one, or not at all."""
