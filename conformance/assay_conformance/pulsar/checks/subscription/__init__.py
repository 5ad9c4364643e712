"""Subscriptions: which consumers may attach, what each receives, and what happens to it when one leaves."""
