"""Schemas: stated by clients, kept by brokers, named by messages."""
