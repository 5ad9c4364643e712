"""Faults of packets: a network of our own between clients and brokers, on which real TCP runs."""
