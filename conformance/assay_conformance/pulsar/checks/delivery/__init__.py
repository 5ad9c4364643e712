"""Delivery from end to end, judged by the same rules as a ledger."""
