"""Delivery from end to end: the history as rows, judged by the same rules as any ledger.

The rows are made once an attempt, behind its last event, and every rule sees every row once.
"""

from __future__ import annotations

from itertools import chain, islice

from assay_conformance.checks.base import MAX_EXAMPLES, Check, View, on
from assay_conformance.checks.consumption import in_force, is_torn
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.witnessed import ANY_TOPIC, Witnessed
from assay_conformance.ledger import clauses
from assay_conformance.ledger.from_history import Transcript, transcribe
from assay_conformance.ledger.from_history.evidence import HistoryJudged, judge_history
from assay_conformance.ledger.rules import Breach
from assay_conformance.model.event import Began, Event, Fired, Frame, Invoke, ReadBack, Received, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic, named_topics

MOST_EVENTS = 6
"""Events of a message that a finding names: asked for, told, stored, delivered, and delivered again."""


def ledger_of(view: View) -> HistoryJudged:
    """Made when it is asked for first."""
    if view.tracker.ledger is None:
        asked = {check.requirement for check in RowsCheck.__subclasses__()}
        transcript = transcribe(view.tracker.history, view.case, view.facts, asked=asked)
        view.tracker.ledger = judge_history(transcript, asked)
    return view.tracker.ledger


class RowsCheck(Check):
    """Says what the rule of its requirement says of the rows."""

    skips_plain = True

    def finish(self) -> None:
        ledger = ledger_of(self.view)
        rule = ledger.rules[self.requirement]
        self.exercised = rule.exercised()
        if self.exercised:
            events = chain.from_iterable(ledger.transcript.events.values())
            self.examples = list(islice((e.seq for e in events if isinstance(e, Received)), MAX_EXAMPLES))
        for breach in rule.breaches:
            self.judge(breach, self._events(breach, ledger.transcript))
        if rule.doubt:
            self.undecided(rule.doubt)

    def judge(self, breach: Breach, events: tuple[Event, ...]) -> None:
        self.breach(breach.code, breach.sentence, *events)

    def _events(self, breach: Breach, transcript: Transcript) -> tuple[Event, ...]:
        told = transcript.events.get((breach.stream, breach.seq))
        if told is None:
            told = [event for event in self.tracker.history if isinstance(event, Fired)]
        return tuple(sorted(told, key=lambda event: event.seq)[:MOST_EVENTS])


class AckedIsDelivered(RowsCheck):
    requirement = RequirementId(clauses.LOST)


class NothingInvented(RowsCheck):
    """What rows say, and every delivery against all that the witnesses know: rows leave much out."""

    requirement = RequirementId(clauses.INVENTED)

    def start(self) -> None:
        self._known = Witnessed({topic.name for topic in self.view.case.topology.topics})

    @on(Began)
    def began(self, event: Began) -> None:
        self._known.topics.update(event.topics)

    @on(Invoke, "send")
    def asked_for(self, event: Invoke) -> None:
        opening = None if event.handle is None else self.tracker.lines.openings.get(event.handle)
        if opening is None or event.size is None or event.digest is None:
            return
        for topic in self._named(opening):
            self._known.asked_for(topic, (event.size, event.digest))

    @on(Invoke, "open_producer", "open_consumer")
    def opened(self, event: Invoke) -> None:
        self._known.topics.update(self._named(event))

    @on(Frame, "PRODUCER", "SUBSCRIBE", "LOOKUP")
    def named(self, event: Frame) -> None:
        self._known.subscribed = self._known.subscribed or event.command == "SUBSCRIBE"
        self._known.topics.add(self._local(str(event.fields.get("topic", ""))))

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        self._known.sent(ANY_TOPIC if session is None else base_topic(session.topic), event)

    @on(Frame, "MESSAGE")
    def dispatched(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        self._known.dispatched(ANY_TOPIC if session is None else base_topic(session.topic), event)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        self._known.topics.add(base_topic(event.topic))
        self._known.stored(event)

    @on(ReadBack)
    def read_back(self, event: ReadBack) -> None:
        self._known.read_back(base_topic(event.topic))

    @on(Received)
    def delivered(self, event: Received) -> None:
        self._known.delivered(event, self._topic_of(event))

    def finish(self) -> None:
        super().finish()
        reported = {seq for finding in self.findings for seq in finding.events}
        for event, code, sentence in self._known.strangers():
            if event.seq not in reported:
                self.breach(code, sentence, event)

    def _topic_of(self, event: Received) -> str | None:
        if event.topic is not None:
            return self._local(event.topic)
        consumer = self.tracker.opened_consumers.get(event.handle)
        return base_topic(consumer.topics[0]) if consumer is not None and len(consumer.topics) == 1 else None

    def _named(self, opening: Invoke) -> list[str]:
        first = self.view.case.topology.topics[0].name
        return [self._local(str(name)) for name in named_topics(opening.args, first)]

    def _local(self, full: str) -> str:
        return base_topic(self.tracker.local_topic(full))


class FailedIsNotStored(RowsCheck):
    requirement = RequirementId(clauses.FAILED)


class OkIsStored(RowsCheck):
    requirement = RequirementId(clauses.STORED_OK)

    def judge(self, breach: Breach, events: tuple[Event, ...]) -> None:
        """The client's word that it is stored stands against the broker's own of what it holds."""
        small = ledger_of(self.view).transcript.small
        topic = base_topic(small.topics[small.streams[breach.stream].topic].name)
        read_back = (event for event in self.tracker.history if isinstance(event, ReadBack))
        super().judge(breach, (*events, *(event for event in read_back if base_topic(event.topic) == topic)))


class AsSent(RowsCheck):
    requirement = RequirementId(clauses.AS_SENT)


class WithinContract(RowsCheck):
    requirement = RequirementId(clauses.CONTRACT)


class FlowsAfterHeal(RowsCheck):
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


class FaultWindows(RowsCheck):
    requirement = RequirementId(clauses.WINDOWS)
