"""Resend: what a client owes a send whose connection dies before the receipt.

The client keeps sent units in a queue until their receipts come. When it has registered its producer again it sends the
whole queue from the head, as the same bytes, before anything new.

A receipt written to the client around a cut may or may not have reached it. So a unit is *owed* a resend only when no
receipt was written for it at all, and it *must not* be sent again only when its completion reached the bench before the
bench wrote the PRODUCER_SUCCESS that allows resending.
"""
