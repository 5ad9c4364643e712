"""Deduplication, the broker's half: what it remembers of a producer name, what it stores, and what it answers.

Two numbers a name: the highest sequence id that has arrived (`pushed`), and the highest that is stored (`persisted`). A
SEND at or below the second is a duplicate (`duplicate-not-stored`), one between the two cannot be judged yet
(`pending-duplicate-rejected`), and a new producer of that name is told the first (`reports-last-sequence-id`). A batch
is compared by its lowest id (`batch-judged-by-lowest-id`) and remembered by its highest
(`records-highest-sequence-id`), a chunked message by its last chunk (`checks-last-chunk-only`). What could not be
written is forgotten (`accepts-retry-of-failed-write`), and what was written is known to whoever loads the topic next
(`survives-unload`), as long as somebody uses the name (`forgets-inactive-producers`), and where there are not more
names than it writes down (`max-producers-in-snapshot`). Ids that are left out are nobody's loss
(`sequence-gaps-accepted`), and markers pass (`markers-are-exempt`).
"""

from __future__ import annotations

from assay_conformance.checks.dedup_broker.bounds import BoundsWhatItRemembers
from assay_conformance.checks.dedup_broker.duplicates import BatchStandsOrFalls, DuplicateNotStored, RecordsHighestId
from assay_conformance.checks.dedup_broker.early_chunks import ChecksLastChunkOnly
from assay_conformance.checks.dedup_broker.early_copies import UndecidedCopyIsRefused
from assay_conformance.checks.dedup_broker.gaps import StoresOverGaps
from assay_conformance.checks.dedup_broker.last_id import TellsLastId
from assay_conformance.checks.dedup_broker.loads import SurvivesLoad
from assay_conformance.checks.dedup_broker.markers import MarkersAreExempt
from assay_conformance.checks.dedup_broker.retries import TakesFailedAgain
from assay_conformance.checks.dedup_broker.unused import ForgetsUnusedNames

__all__ = [
    "BatchStandsOrFalls",
    "BoundsWhatItRemembers",
    "ChecksLastChunkOnly",
    "DuplicateNotStored",
    "ForgetsUnusedNames",
    "MarkersAreExempt",
    "RecordsHighestId",
    "StoresOverGaps",
    "SurvivesLoad",
    "TakesFailedAgain",
    "TellsLastId",
    "UndecidedCopyIsRefused",
]
