"""delivery.successful-send-is-stored"""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.ledger.rules import Breach
from assay_conformance.model.event import Event, ReadBack
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.delivery._rows import RowsCheck, ledger_of


class SuccessfulSendIsStored(RowsCheck):
    requirement = RequirementId(clauses.STORED_OK)

    def judge(self, breach: Breach, events: tuple[Event, ...]) -> None:
        """Name what the broker holds as evidence, beside the successful send."""
        small = ledger_of(self.view).transcript.small
        topic = base_topic(small.topics[small.streams[breach.stream].topic].name)
        read_back = (event for event in self.tracker.history if isinstance(event, ReadBack))
        super().judge(breach, (*events, *(event for event in read_back if base_topic(event.topic) == topic)))
