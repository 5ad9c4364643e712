"""Look-ups that fail: those that may succeed a moment later are tried again, those that will not are not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.base import CAME, ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, to_client
from assay_conformance.checks.parts import asked_nobody, topics_of
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.event import Closed, Completion, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

PASSING = ("ServiceNotReady", "TooManyRequests")
FINAL = ("AuthorizationError", "InvalidTopicName")

LEAST_PAUSE_NS = 20 * MS
"""Backoff begins at 100 ms in most clients and at 10 ms in one; retries that follow each other faster have none."""


@dataclass(slots=True)
class _Opening:
    """One open_producer or open_consumer, and what became of the look-ups for it."""

    call: Invoke
    topics: frozenset[str]
    failures: list[Frame] = field(default_factory=list)
    final: Frame | None = None
    doubtful: Frame | None = None
    """An answer that some clients take for final and others do not, or that the producer or consumer was refused by."""
    last: dict[str, Frame] = field(default_factory=dict)
    """By topic, which may be a partition: the answer that failed last, until it is asked again, and how many look-ups
    left right behind one."""
    hasty: Counter[str] = field(default_factory=Counter)


class RetriesLookups(TimedCheck):
    """Within the operation time-out, and with a pause. Pauses double: in the second half of the time the next one may
    not fit any more. Judged while one producer or consumer is being opened on a topic, and what may be a look-up of one
    that is open there already is not; pauses, of topics that nothing else is opened on."""

    requirement = RequirementId("connection.retries-lookups")
    skips_plain = True

    def start(self) -> None:
        self._openings: dict[int, _Opening] = {}
        self._topics: dict[tuple[int, int], str] = {}
        self._company: set[str] = set()
        """Topics that something was opened on: it may look them up as well."""
        self._sent_away = False
        """Since then somebody had to look its topic up again: its connection was lost, or the broker closed it."""

    @on(Closed)
    def connection_lost(self, event: Closed) -> None:
        del event
        self._sent_away = True

    @on(Frame, "CLOSE_PRODUCER", "CLOSE_CONSUMER", "TOPIC_MIGRATED", "SEND_ERROR", seen=CAME)
    def sent_away(self, event: Frame) -> None:
        self._sent_away = self._sent_away or to_client(event)

    @on(Invoke, "open_producer", "open_consumer")
    def opens(self, event: Invoke) -> None:
        self._openings[event.op] = _Opening(event, topics_of(self.view, event))

    @on(Frame, "LOOKUP", "PARTITIONED_METADATA")
    def asked(self, event: Frame) -> None:
        topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
        opening = self._opening_of(topic)
        if not from_client(event) or event.request_id is None:
            return
        self._topics[event.conn, event.request_id] = topic
        if opening is None:
            return
        if opening.final is not None and not self._may_be_anothers(topic, event):
            self.breach(
                "kept-asking",
                f"topic {topic} was looked up in vain, with {opening.final.fields.get('error')} at "
                f"{ms(opening.final.t_ns)}, which no time mends; it was asked for again at {ms(event.t_ns)}",
                opening.final,
                event,
            )
        last = opening.last.pop(topic, None)
        if last is None or base_topic(topic) in self._company:
            return
        opening.hasty[topic] = opening.hasty[topic] + 1 if event.t_ns - last.t_ns < LEAST_PAUSE_NS else 0
        if opening.hasty[topic] == 3:
            self.breach(
                "without-pause",
                f"topic {topic}: three look-ups in a row left within {LEAST_PAUSE_NS // MS} ms of a failed one; the "
                f"last failed at {ms(last.t_ns)}, the next left at {ms(event.t_ns)}",
                last,
                event,
            )

    @on(Frame, "LOOKUP_RESPONSE", "PARTITIONED_METADATA_RESPONSE")
    def told(self, event: Frame) -> None:
        topic = self._topics.pop((event.conn, event.request_id or 0), "")
        if not to_client(event) or event.fields.get("response") != "Failed":
            return
        error, opening = event.fields.get("error"), self._opening_of(topic)
        if opening is not None and error in FINAL and not self._may_be_anothers(topic, event):
            opening.final = opening.final or event
        elif error not in PASSING:
            self._doubt(topic, event)
        elif opening is not None:
            opening.failures.append(event)
            opening.last[topic] = event

    @on(Frame, "PRODUCER", "SUBSCRIBE")
    def registers(self, event: Frame) -> None:
        if from_client(event) and event.request_id is not None:
            topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
            self._topics[event.conn, event.request_id] = topic

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        topic = self._topics.pop((event.conn, event.request_id or 0), "")
        if to_client(event):
            self._doubt(topic, event)

    @on(Completion, "open_producer", "open_consumer")
    def opened(self, event: Completion) -> None:
        opening = self._openings.pop(event.op, None)
        if opening is not None and event.outcome is Outcome.OK:
            self._company |= opening.topics
        if opening is None or not (opening.failures or opening.final) or asked_nobody(event):
            return
        its_own = (answer for topic, answer in opening.last.items() if not self._may_be_anothers(topic, answer))
        last = max((one for one in its_own if one.t_ns <= ended_ns(event)), key=lambda one: one.seq, default=None)
        if event.outcome is Outcome.OK or opening.final is not None or last is None:
            self.exercise(event)
        elif opening.doubtful is None and event.t_ns - opening.call.t_ns < self._time_to_ask(opening):
            self.breach(
                "gave-up",
                f"{event.verb} of handle {event.handle} failed at {ms(event.t_ns)} after {last.fields.get('error')} at "
                f"{ms(last.t_ns)}, {(event.t_ns - opening.call.t_ns) // MS} ms into its time of "
                f"{self._timeout_ns(opening) // MS} ms: it should have asked again",
                last,
                event,
            )

    def _time_to_ask(self, opening: _Opening) -> int:
        """Since the call: by then the next look-up would have fitted, the second one the more so."""
        timeout_ns = self._timeout_ns(opening)
        spare = TOLERANCES["answer"].slack_ns if len(opening.failures) == 1 else 2 * TOLERANCES["reconnect"].slack_ns
        return min(timeout_ns // 2, timeout_ns - spare)

    def _timeout_ns(self, opening: _Opening) -> int:
        return int(self.view.client_setting(opening.call.handle, "operation_timeout_ms") or 0) * MS

    def _opening_of(self, topic: str) -> _Opening | None:
        """The one opening that asks for this topic, where it is one."""
        found = self._openings_on(topic)
        return found[0] if len(found) == 1 else None

    def _may_be_anothers(self, topic: str, frame: Frame) -> bool:
        """What is open looks for added partitions now and then, and its topic up when it has to come back."""
        seeks_partitions = frame.command.startswith("PARTITIONED_METADATA")
        return base_topic(topic) in self._company and (seeks_partitions or self._sent_away)

    def _openings_on(self, topic: str) -> list[_Opening]:
        return [opening for opening in self._openings.values() if base_topic(topic) in opening.topics]

    def _doubt(self, topic: str, answer: Frame) -> None:
        """Whose of several it is, they may all end by it."""
        for opening in self._openings_on(topic):
            opening.doubtful = answer
