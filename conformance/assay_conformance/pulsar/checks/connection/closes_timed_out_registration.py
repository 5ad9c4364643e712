"""connection.closes-timed-out-registration"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Completion, Ended, ErrorClass, Frame, Outcome
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _Unanswered:
    """A PRODUCER or SUBSCRIBE without an answer; `closed` by a CLOSE_PRODUCER or CLOSE_CONSUMER of its id."""

    request: Frame
    handle: int | None
    closed: bool = False
    gave_up: Completion | None = None


class ClosesTimedOutRegistration(TimedCheck):
    """Before an id is registered again on a connection where its registration has no answer, it is closed there. The
    same holds once the open call has failed with a time-out, at the latest when the registration's own time-out is
    over, since one open call may need several registrations."""

    requirement = RequirementId("connection.closes-timed-out-registration")
    skips_plain = True

    def start(self) -> None:
        self._unanswered: dict[tuple[int, str, int], _Unanswered] = {}

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        if from_client(event) and event.producer_id is not None:
            owner = self.tracker.foresight.owners.get(event.seq)
            self._registered(event, "producer", event.producer_id, owner)

    @on(Frame, "SUBSCRIBE")
    def subscribe(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if from_client(event) and event.consumer_id is not None:
            consumer = session.consumer if session is not None else None
            self._registered(event, "consumer", event.consumer_id, consumer.handle if consumer is not None else None)

    def _registered(self, event: Frame, kind: str, id: int, handle: int | None) -> None:
        before = self._unanswered.get((event.conn, kind, id))
        if before is not None and not before.closed:
            self.breach(
                "asked-again",
                f"{kind} id {id} was registered on connection {event.conn} at {ms(before.request.t_ns)} and got no "
                f"answer; expected a close of it before the next registration, which left at {ms(event.t_ns)}",
                before.request,
                event,
            )
        self._unanswered[event.conn, kind, id] = _Unanswered(event, handle)

    @on(Frame, "PRODUCER_SUCCESS", "SUCCESS", "ERROR")
    def answered(self, event: Frame) -> None:
        if not to_client(event):
            return
        for key, unanswered in list(self._unanswered.items()):
            if (key[0], unanswered.request.request_id) == (event.conn, event.request_id) and not unanswered.closed:
                del self._unanswered[key]

    @on(Frame, "CLOSE_PRODUCER", "CLOSE_CONSUMER")
    def closed(self, event: Frame) -> None:
        kind = "producer" if event.command == "CLOSE_PRODUCER" else "consumer"
        id = event.producer_id if kind == "producer" else event.consumer_id
        unanswered = self._unanswered.get((event.conn, kind, -1 if id is None else id))
        if unanswered is None or unanswered.closed:
            return
        if from_client(event):
            unanswered.closed = True
            self.exercise(event)
        else:
            # The broker has closed it: the client need not.
            del self._unanswered[event.conn, kind, -1 if id is None else id]

    @on(Completion, "open_producer", "open_consumer")
    def opened(self, event: Completion) -> None:
        if event.outcome is not Outcome.OK and event.error is ErrorClass.TIMEOUT:
            for unanswered in self._unanswered.values():
                if unanswered.handle == event.handle:
                    unanswered.gave_up = event

    @on(Ended)
    def case_ended(self, event: Ended) -> None:
        for (conn, kind, id), unanswered in self._unanswered.items():
            gave_up, closed = unanswered.gave_up, self.tracker.closed.get(conn)
            if gave_up is None or unanswered.closed:
                continue
            until_ns = event.t_ns if closed is None else closed.t_ns
            own_ms = int(self.view.client_setting(unanswered.handle, "operation_timeout_ms") or 0)
            due_ns = max(gave_up.t_ns, unanswered.request.t_ns + own_ms * MS)
            if late("answer", due_ns, until_ns):
                self.overdue(
                    "answer",
                    due_ns,
                    until_ns,
                    "left-behind",
                    f"opening {kind} {unanswered.handle} failed with a time-out at {ms(gave_up.t_ns)}; expected {kind} "
                    f"id {id} to be closed on connection {conn}, since the broker may have registered it; it was not "
                    f"by {ms(until_ns)}",
                    unanswered.request,
                    gave_up,
                )
