"""dedup.effectively-once"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from assay_conformance.checks.holdings import Holding, HoldingsCheck, keeps_call_order, topic_of
from assay_conformance.checks.worlds import Kind
from assay_conformance.model.event import Event
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dedup._deduplication import deduplicated, may_repeat_ids


class EffectivelyOnce(HoldingsCheck):
    """With deduplication, a fixed producer name and ids that the client assigns, each message is stored once, in order.

    Not judged with a configured initial sequence id, which may repeat ids on purpose; with raw entries in the topic,
    which may use the ids; and while two producers have the same name, and both assign its ids.
    """

    requirement = RequirementId("dedup.effectively-once")
    skips_plain = True
    codes: ClassVar[dict[Kind, str]] = {
        Kind.LOST: "lost",
        Kind.TWICE: "stored-twice",
        Kind.DISORDER: "reordered",
        Kind.PHANTOM: "stored-though-failed",
    }
    once: ClassVar[bool] = True

    def judges(self, holding: Holding) -> bool:
        setting = self.view.producer_setting
        return (
            holding.topic.name in deduplicated(self.view)
            and setting(holding.handle, "producer_name") is not None
            and not may_repeat_ids(self.view, holding.handle)
            and keeps_call_order(self, holding)
            and not self._shares_its_name(holding)
            and not any(step.verb == "store_entries" for step in self.view.case.steps)
        )

    def _shares_its_name(self, holding: Holding) -> bool:
        """Whether another producer of that name was open at the same time."""
        lines, name = self.tracker.lines, self.view.producer_setting(holding.handle, "producer_name")
        return any(
            handle != holding.handle
            and topic_of(self, handle) == holding.topic
            and self.view.producer_setting(handle, "producer_name") == name
            and opening.is_beside(lines.openings[holding.handle], lines.closings)
            for handle, opening in lines.openings.items()
        )

    def exercised_by(self, holding: Holding) -> Iterator[Event]:
        for line in self.tracker.lines.of_handle(holding.handle):
            for unit in line.units:
                yield from (frame for _, frame in unit.sends[1:])
