"""delivery.resumes-after-fault"""

from __future__ import annotations

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import in_force, is_torn
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.ledger import clauses
from assay_conformance.ledger.rules import Breach
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic, named_topics
from assay_conformance.pulsar.checks.delivery._rows import RowsCheck, ledger_of


class ResumesAfterFault(RowsCheck):
    """A pause of the machine is not a stall of the client."""

    requirement = RequirementId(clauses.FLOWS)

    def start(self) -> None:
        self._lost_permits: set[str] = set()
        """Subscriptions with permits that a fault dropped: the client does not grant them again."""
        self._any_lost_permits = False

    @on(Frame, "FLOW")
    def granted(self, event: Frame) -> None:
        if is_torn(event):
            session = self.tracker.consumer_of(event)
            if session is None:
                self._any_lost_permits = True
            else:
                self._lost_permits.add(_row_name(session.subscription, session.topic))

    def judge(self, breach: Breach, events: tuple[Event, ...]) -> None:
        stalled = ledger_of(self.view).transcript.small.subscriptions[breach.sub].name
        # A consumer that reconnects to a failover subscription becomes active a second later.
        if self._any_lost_permits or stalled in self._lost_permits | self._failover():
            return
        end_ns = self.tracker.history[-1].t_ns
        if self.tracker.load.quiet(0, end_ns, TOLERANCES["answer"]):
            super().judge(breach, events)
        else:
            self.undecided("the machine was too busy to decide whether messages were received again in time")

    def _failover(self) -> set[str]:
        first = self.view.case.topology.topics[0].name
        return {
            _row_name(one.subscription, self.tracker.local_topic(str(topic)))
            for one in self.tracker.opened_consumers.values()
            if in_force(self.view, one, "subscription_type") == "failover"
            for topic in named_topics(one.invoke.args, first)
        }


def _row_name(subscription: str, topic: str) -> str:
    """Return the name of the subscription in the rows."""
    return f"{subscription} on {base_topic(topic)}"
