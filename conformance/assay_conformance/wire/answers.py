"""Words in a broker's answers that distinguish causes with one code."""

from __future__ import annotations

UNKNOWN_COPY = "Cannot determine whether the message is a duplicate at this time"
"""In a SEND_ERROR PersistenceError: nothing was written, for an earlier SEND of the id is still on record
(MessageDeduplication: MessageDupUnknownException)."""
