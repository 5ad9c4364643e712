"""Ledgers that are made up: seeded, of any size, with what healthy runs hold and with anomalies at known places."""
