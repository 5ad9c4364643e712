"""Acknowledging what is none of one's own: an id of a topic that the consumer does not take."""

from __future__ import annotations

from typing import NamedTuple

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import entry_on, from_client
from assay_conformance.checks.tracker import ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Completion, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic


class _Mistake(NamedTuple):
    """A call that names `entry`, of another consumer's topic."""

    invoke: Invoke
    consumer: OpenedConsumer
    entry: Entry


class OtherTopicRejected(Check):
    """Of consumers of several topics, for only they have to find out whose an id is: others take each for their own.

    A call that never ends is the matter of `robustness.calls-do-not-hang`.
    """

    requirement = RequirementId("ack.other-topic-rejected")
    skips_plain = True
    needs = ((Invoke, "ack"),)

    def start(self) -> None:
        self._mistakes: dict[int, _Mistake] = {}

    @on(Invoke, "ack")
    def asked(self, event: Invoke) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle or 0)
        if consumer is None or "of" not in event.args or len(consumer.topics) < 2:
            return
        for ordinal in event.args.get("messages", ()):
            message = self.tracker.delivery(event.args["of"], ordinal)
            entry = None if message is None else self.tracker.entries.get(message.seq)
            if entry is not None and base_topic(entry.topic) not in consumer.topics:
                self._mistakes[event.op] = _Mistake(event, consumer, entry)

    @on(Completion, "ack")
    def ended(self, event: Completion) -> None:
        mistake = self._mistakes.get(event.op)
        if mistake is None:
            return
        if event.outcome in (Outcome.FAIL, Outcome.UNKNOWN):
            self.exercise(event)
        elif event.outcome is Outcome.OK:
            self.breach(
                "accepted",
                f"{_told(mistake)}, and said at {ms(event.t_ns)} that it had; expected an error: nobody did",
                mistake.invoke,
                event,
            )

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if not self._mistakes or session is None or session.consumer is None or not from_client(event):
            return
        places = {(mistake.consumer.handle, *mistake.entry[1:]): mistake for mistake in self._mistakes.values()}
        for id in event.ids:
            mistake = places.get((session.consumer.handle, *id.position))
            if mistake is not None and not self._is_own(session, entry_on(session, id)):
                self.breach(
                    "sent",
                    f"{_told(mistake)}, and sent an ACK of this id for {session.topic} at {ms(event.t_ns)}; expected "
                    f"none: there it names another message, or none",
                    mistake.invoke,
                    event,
                )

    def _is_own(self, session: ConsumerSession, entry: Entry) -> bool:
        """Brokers may give the same place to entries of several topics."""
        assert session.consumer is not None
        got = self.tracker.received.get(session.consumer.handle, ())
        return any(self.tracker.entries.get(message.seq) == entry for message in got)


def _told(mistake: _Mistake) -> str:
    topics = ", ".join(mistake.consumer.topics)
    return (
        f"consumer {mistake.consumer.handle} takes from {topics}; it was told to acknowledge {mistake.entry} of "
        f"{mistake.entry.topic}"
    )
