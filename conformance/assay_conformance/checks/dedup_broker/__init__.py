"""Deduplication, the broker's half: what it remembers of a producer name, what it stores, and what it answers.

Two numbers a name: the highest sequence id that has arrived (`pushed`), and the highest that is stored (`persisted`). A
SEND at or below the second is a duplicate (`duplicate-not-stored`), one between the two cannot be judged yet
(`undecided-copy-is-refused`), and a new producer of that name is told the first (`tells-last-id`).
"""

from __future__ import annotations

from assay_conformance.checks.dedup_broker.duplicates import DuplicateNotStored
from assay_conformance.checks.dedup_broker.early_copies import UndecidedCopyIsRefused
from assay_conformance.checks.dedup_broker.last_id import TellsLastId

__all__ = ["DuplicateNotStored", "TellsLastId", "UndecidedCopyIsRefused"]
