"""What checks are made of and run by; the checks themselves stand in `pulsar.checks`."""
