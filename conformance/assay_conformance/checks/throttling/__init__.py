"""Throttling: how fast a broker hands out messages, and how it slows a producer down.

Dispatch: R tokens are added a period, to R at most. A read needs one, takes at most as many entries as there are
tokens, and is charged afterwards with the messages inside, so a read can overdraw; the next periods repay that. Where a
period begins is the broker's secret: every bound here holds wherever it begins.
Publish: tokens flow in continuously, and the broker does not read on while it has none.
"""

from __future__ import annotations

from assay_conformance.checks.throttling.dropping import DropsWhatIsNotKept
from assay_conformance.checks.throttling.floors import EntriesCountOnce, PartitionsEach, SparesCaughtUp
from assay_conformance.checks.throttling.publishing import FullBufferPauses, PublishRateHolds, UnwrittenPause
from assay_conformance.checks.throttling.reads import PreciseReads, ReadsWithinQuota, RepaysOvershoot
from assay_conformance.checks.throttling.windows import (
    ByteRateHolds,
    DispatchRateHolds,
    LevelsHoldTogether,
    NearestLevelHolds,
    PeriodHolds,
    RatesHoldTogether,
    RedeliveredCountAgain,
    ReplayOvershoots,
)

__all__ = [
    "ByteRateHolds",
    "DispatchRateHolds",
    "DropsWhatIsNotKept",
    "EntriesCountOnce",
    "FullBufferPauses",
    "LevelsHoldTogether",
    "NearestLevelHolds",
    "PartitionsEach",
    "PeriodHolds",
    "PreciseReads",
    "PublishRateHolds",
    "RatesHoldTogether",
    "ReadsWithinQuota",
    "RedeliveredCountAgain",
    "RepaysOvershoot",
    "ReplayOvershoots",
    "SparesCaughtUp",
    "UnwrittenPause",
]
