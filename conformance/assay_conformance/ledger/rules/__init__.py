"""The rulebook: what is decided on rows, each under its requirement."""

from __future__ import annotations

from assay_conformance.ledger.rules.acks import AckedNotRedelivered, KeepsWhatIsUnacked, SurvivesLoad
from assay_conformance.ledger.rules.arrival import (
    AckedIsDelivered,
    AsSent,
    FailedIsNotStored,
    NothingInvented,
    OkIsStored,
)
from assay_conformance.ledger.rules.base import Breach, Rule
from assay_conformance.ledger.rules.copies import EffectivelyOnce, WithinContract
from assay_conformance.ledger.rules.keys import KeepsKeys
from assay_conformance.ledger.rules.nacks import LeastDelay, RedeliveredInWindow, RedeliveriesCounted
from assay_conformance.ledger.rules.order import DeliversWholeOnly, KeepsSendOrder, KeyKeepsOrder
from assay_conformance.ledger.rules.times import (
    DispatchRateHolds,
    FaultWindows,
    FlowsAfterHeal,
    NotBeforeItsTime,
    PublishRateHolds,
)

RULES: tuple[type[Rule], ...] = (
    AckedIsDelivered,
    NothingInvented,
    FailedIsNotStored,
    OkIsStored,
    AsSent,
    WithinContract,
    FlowsAfterHeal,
    FaultWindows,
    EffectivelyOnce,
    KeepsSendOrder,
    KeyKeepsOrder,
    KeepsKeys,
    DeliversWholeOnly,
    SurvivesLoad,
    AckedNotRedelivered,
    KeepsWhatIsUnacked,
    LeastDelay,
    RedeliveredInWindow,
    RedeliveriesCounted,
    NotBeforeItsTime,
    DispatchRateHolds,
    PublishRateHolds,
)

__all__ = ["RULES", "Breach", "Rule"]
