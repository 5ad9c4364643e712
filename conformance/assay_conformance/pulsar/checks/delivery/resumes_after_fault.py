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
    """A machine that stood still is no stall of a client."""

    requirement = RequirementId(clauses.FLOWS)

    def start(self) -> None:
        self._torn: set[str] = set()
        """Subscriptions whose permits a fault took out of their stream: nobody grants them again."""
        self._all_torn = False

    @on(Frame, "FLOW")
    def granted(self, event: Frame) -> None:
        if is_torn(event):
            session = self.tracker.consumer_of(event)
            if session is None:
                self._all_torn = True
            else:
                self._torn.add(_called(session.subscription, session.topic))

    def judge(self, breach: Breach, events: tuple[Event, ...]) -> None:
        stalled = ledger_of(self.view).transcript.small.subscriptions[breach.sub].name
        # Whoever comes back to a failover subscription is made active a second later.
        if self._all_torn or stalled in self._torn | self._failover():
            return
        end_ns = self.tracker.history[-1].t_ns
        if self.tracker.load.quiet(0, end_ns, TOLERANCES["answer"]):
            super().judge(breach, events)
        else:
            self.undecided("the machine was too busy to tell whether messages flowed again in time")

    def _failover(self) -> set[str]:
        first = self.view.case.topology.topics[0].name
        return {
            _called(one.subscription, self.tracker.local_topic(str(topic)))
            for one in self.tracker.opened_consumers.values()
            if in_force(self.view, one, "subscription_type") == "failover"
            for topic in named_topics(one.invoke.args, first)
        }


def _called(subscription: str, topic: str) -> str:
    """As rows name a subscription."""
    return f"{subscription} on {base_topic(topic)}"
