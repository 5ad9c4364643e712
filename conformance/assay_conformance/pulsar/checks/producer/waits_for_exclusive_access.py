"""producer.waits-for-exclusive-access"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.model.event import Closed, Completion, Ended, ErrorClass, Frame, Outcome
from assay_conformance.model.requirement import RequirementId

_Part = tuple[int, str]
"""A producer by its handle, and one of its partitions, or its topic where it has none: each waits for itself."""


def _part_of(session: ProducerSession) -> _Part | None:
    handle = None if session.line is None else session.line.handle
    return None if handle is None else (handle, session.topic)


@dataclass(slots=True)
class _Wait:
    """A producer that was told to wait, on one connection; `lost` where that ended."""

    session: ProducerSession
    told: Frame
    lost: Closed | None = None


class WaitsForExclusiveAccess(TimedCheck):
    """Its opening lasts as long as it waits: no time-out ends it, and nothing else than the broker's word does.

    One whose connection ends while it waits asks again, or tells the application that it failed.
    """

    requirement = RequirementId("producer.waits-for-exclusive-access")
    skips_plain = True

    def start(self) -> None:
        self._waits: dict[_Part, _Wait] = {}
        self._answered: set[int] = set()
        """Sessions whose PRODUCER was answered, be it that they wait."""

    @on(Frame, "PRODUCER_SUCCESS", "ERROR")
    def answered(self, event: Frame) -> None:
        if not to_client(event):
            return
        session = next((each for each in self._sessions() if self._is_for(each, event)), None)
        if session is not None:
            self._answered.add(session.request.seq)
        part = next((part for part, wait in self._waits.items() if self._is_for(wait.session, event)), None)
        if event.command == "ERROR":
            self._let_go(part)
        elif event.fields.get("producer_ready") is not False:
            wait = self._let_go(part)
            timeout_ms = int(self.view.client_setting(part[0], "operation_timeout_ms") or 0) if part else 0
            if wait is not None and event.t_ns - wait.told.t_ns > timeout_ms * MS:
                self.exercise(event)
        elif session is not None and (part := _part_of(session)) is not None:
            self._waits.setdefault(part, _Wait(session, event))

    def _let_go(self, part: _Part | None) -> _Wait | None:
        return None if part is None else self._waits.pop(part, None)

    @on(Frame, "PRODUCER")
    def asked(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        part = None if session is None else _part_of(session)
        wait = None if part is None else self._waits.get(part)
        if wait is not None and session is not None and wait.lost is not None and from_client(event):
            self.exercise(event)
            wait.session, wait.lost = session, None

    @on(Closed)
    def connection_lost(self, event: Closed) -> None:
        for wait in self._waits.values():
            if wait.session.conn == event.conn:
                wait.lost = event

    @on(Completion, "open_producer")
    def opened(self, event: Completion) -> None:
        waits = [self._waits.pop(part) for part in list(self._waits) if part[0] == event.handle]
        # One that is told to wait when it comes back, while the word of its opening is on its way, had been let in.
        waits = [wait for wait in waits if wait.told.t_ns <= ended_ns(event)]
        if not waits:
            return
        wait = waits[0]
        if event.outcome is Outcome.OK:
            self.breach(
                "opened-unadmitted",
                f"producer {event.handle} was told to wait at {ms(wait.told.t_ns)}, and had not been let in when its "
                f"opening succeeded at {ms(event.t_ns)}",
                wait.told,
                event,
            )
        elif wait.lost is None and event.error is ErrorClass.TIMEOUT and not self._has_unanswered(event.handle):
            self.breach(
                "gave-up",
                f"producer {event.handle} was told to wait at {ms(wait.told.t_ns)}; it may take as long as others have "
                f"the topic, and timed out at {ms(event.t_ns)}",
                wait.told,
                event,
            )

    def _has_unanswered(self, handle: int | None) -> bool:
        """Another partition of it waits for any answer at all, and its time may be over."""
        asking = (one for one in self._sessions() if one.line is not None and one.line.handle == handle)
        return any(one.request.seq not in self._answered for one in asking)

    @on(Ended)
    def over(self, event: Ended) -> None:
        for (handle, _), wait in self._waits.items():
            closing = self.tracker.lines.closings.get(handle)
            until_ns = event.t_ns if closing is None else closing.t_ns
            if wait.lost is not None and late("reconnect", wait.lost.t_ns, until_ns):
                self.overdue(
                    "reconnect",
                    wait.lost.t_ns,
                    until_ns,
                    "not-asked-again",
                    f"producer {handle} waited for its topic when its connection ended at {ms(wait.lost.t_ns)}; it had "
                    f"neither asked again nor failed by {ms(until_ns)}",
                    wait.told,
                    wait.lost,
                )

    def _sessions(self) -> list[ProducerSession]:
        return list(self.tracker.producers.values())

    def _is_for(self, session: ProducerSession, event: Frame) -> bool:
        return (session.conn, session.request.request_id) == (event.conn, event.request_id)
