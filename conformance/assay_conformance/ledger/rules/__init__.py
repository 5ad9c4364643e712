"""The rulebook: what is decided on rows, each under its requirement."""

from __future__ import annotations

from assay_conformance.ledger.rules import acks, arrival, copies, keys, nacks, order, times
from assay_conformance.ledger.rules.base import Breach, Rule

RULES: tuple[type[Rule], ...] = (
    *(arrival.AckedIsDelivered, arrival.NothingInvented, arrival.FailedIsNotStored, arrival.OkIsStored, arrival.AsSent),
    *(copies.WithinContract, times.FlowsAfterHeal, times.FaultWindows, copies.EffectivelyOnce),
    *(order.KeepsSendOrder, order.KeyKeepsOrder, keys.KeepsKeys, order.DeliversWholeOnly),
    *(acks.SurvivesLoad, acks.AckedNotRedelivered, acks.KeepsWhatIsUnacked),
    *(nacks.LeastDelay, nacks.RedeliveredInWindow, nacks.RedeliveriesCounted),
    *(times.NotBeforeItsTime, times.DispatchRateHolds, times.PublishRateHolds),
)

__all__ = ["RULES", "Breach", "Rule"]
