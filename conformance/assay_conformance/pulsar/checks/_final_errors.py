"""Errors that end a producer or consumer for good: it is fenced, or its topic is deleted.

Judged are producers and consumers that had been registered before, and where the error is final for an open call as
well, open calls; on topics without partitions only, since with several topics the others go on.
"""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.checks.parts import takes_several
from assay_conformance.checks.refusals import was_read
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Completion, Ended, ErrorClass, Frame
from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.timeline.sends import is_vague

Key = tuple[str, int]
"""`producer` or `consumer`, and its handle."""


_AT_THE_CALL = (ErrorClass.TOO_LARGE, ErrorClass.QUEUE_FULL)


class FinalRefusal(TimedCheck):
    error: ClassVar[str]
    means: ClassVar[str]
    expected: ClassVar[ErrorClass | None] = None
    """The error class of pending sends, where the requirement has one."""
    ends_openings: ClassVar[bool] = False

    def start(self) -> None:
        self._asked: dict[tuple[int, int], tuple[Key, Frame]] = {}
        self._admitted: set[Key] = set()
        self._refused: dict[Key, Frame] = {}
        self._otherwise: set[Key] = set()
        """Producers with sends that the broker refused for another reason."""
        self._opened: dict[int, Completion] = {}

    @on(Completion, "open_producer", "open_consumer")
    def open_ended(self, event: Completion) -> None:
        if event.handle is not None:
            self._opened[event.handle] = event

    @on(Frame, "PRODUCER", "SUBSCRIBE")
    def asked(self, event: Frame) -> None:
        key = self._key(event)
        if key is None or not from_client(event):
            return
        self._asked[event.conn, event.request_id or 0] = key, event
        refused = self._refused.get(key)
        if refused is None:
            return
        if not was_read(self, refused, alone=False):
            del self._refused[key]
            return
        # A registration that left before the error was read is no breach.
        if event.t_ns > refused.t_ns + IN_FLIGHT_NS:
            self.breach(
                "kept-trying",
                f"{key[0]} {key[1]} got {self.error} at {ms(refused.t_ns)}: {self.means}; expected no other "
                f"registration; it registered again at {ms(event.t_ns)}",
                refused,
                event,
            )

    @on(Frame, "CLOSE_PRODUCER", "CLOSE_CONSUMER")
    def withdrawn(self, event: Frame) -> None:
        """A client that gave up waiting, and closed what it had requested, does not take the answer."""
        asked = self._key(event) if from_client(event) else None
        for place in [place for place, (key, _) in self._asked.items() if key == asked and place[0] == event.conn]:
            del self._asked[place]

    @on(Frame, "PRODUCER_SUCCESS", "SUCCESS")
    def admitted(self, event: Frame) -> None:
        key, _ = self._asked.pop((event.conn, event.request_id or 0), (None, None))
        if key is not None and to_client(event) and event.fields.get("producer_ready") is not False:
            self._admitted.add(key)
            self._refused.pop(key, None)

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        key, asked = self._asked.pop((event.conn, event.request_id or 0), (None, None))
        if key is None or asked is None or not self._awaited(key[1], asked, event):
            return
        final = to_client(event) and event.intact is not False and event.fields.get("error") == self.error
        judged = key in self._admitted or self.ends_openings
        if final and judged and key not in self._refused:
            self._refused[key] = event
            self.exercise(event)

    @on(Frame, "SEND_ERROR")
    def send_refused(self, event: Frame) -> None:
        producer = self.tracker.producer_of(event)
        if producer is not None and producer.line is not None and producer.line.handle is not None:
            self._otherwise.add(("producer", producer.line.handle))

    def _awaited(self, handle: int, asked: Frame, answer: Frame) -> bool:
        """Whether the client still waited for the answer: one that gave up ignores it."""
        limit = self.view.client_setting(handle, "operation_timeout_ms")
        return answer.t_ns - asked.t_ns < (limit if isinstance(limit, int) else 30_000) * MS // 2

    @on(Ended)
    def over(self, event: Ended) -> None:
        for key, refused in self._refused.items():
            if not was_read(self, refused, alone=False):
                continue
            if key in self._admitted:
                self._pending(key, refused, event)
            else:
                self._opening(key, refused, event)
            if self.expected is not None and key[0] == "producer" and key not in self._otherwise:
                self._errors(key[1], refused, self.expected)

    def _pending(self, key: Key, refused: Frame, event: Ended) -> None:
        kind, handle = key
        for send in self.tracker.sends.get(handle, ()) if kind == "producer" else ():
            end_ns = event.t_ns if send.completion is None else send.completion.t_ns
            if send.invoke.t_ns < refused.t_ns and late("answer", refused.t_ns, end_ns):
                self.overdue(
                    "answer",
                    refused.t_ns,
                    end_ns,
                    "left-pending",
                    f"producer {handle} got {self.error} at {ms(refused.t_ns)}: {self.means}; expected its send of "
                    f"message {send.invoke.number} to fail; it had not ended by {ms(end_ns)}",
                    refused,
                    send.completion or event,
                )
                break

    def _opening(self, key: Key, refused: Frame, event: Ended) -> None:
        kind, handle = key
        end = self._opened.get(handle) or event
        if late("answer", refused.t_ns, end.t_ns):
            self.overdue(
                "answer",
                refused.t_ns,
                end.t_ns,
                "still-opening",
                f"{kind} {handle} got {self.error} at {ms(refused.t_ns)} while it was opened: {self.means}; expected "
                f"the open call to fail; it had not ended by {ms(end.t_ns)}",
                refused,
                end,
            )

    def _errors(self, handle: int, refused: Frame, expected: ErrorClass) -> None:
        """Judge sends that were pending when the error came: called well before it, and ended after it."""
        if handle in self.tracker.foresight.unsure:
            return
        for send in self.tracker.sends.get(handle, ()):
            end = send.completion
            if end is None or end.seq < refused.seq or end.error in _AT_THE_CALL or end.called_ns is None:
                continue
            if late("crossing", end.called_ns, refused.t_ns) and is_vague(end, refused, expected):
                self.breach(
                    "wrong-error",
                    f"producer {handle} got {self.error} at {ms(refused.t_ns)}: {self.means}; expected its send of "
                    f"message {send.invoke.number} to fail with {expected}; it failed at {ms(end.t_ns)} with "
                    f"{end.error} ({end.text})",
                    refused,
                    end,
                )

    def _key(self, event: Frame) -> Key | None:
        if event.command in ("PRODUCER", "CLOSE_PRODUCER"):
            producer = self.tracker.producer_of(event)
            if producer is None or producer.line is None or producer.line.handle is None:
                return None
            return None if is_partition(producer.topic) else ("producer", producer.line.handle)
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or is_partition(session.topic):
            return None
        if takes_several(self.view, session.consumer):
            return None
        return "consumer", session.consumer.handle
