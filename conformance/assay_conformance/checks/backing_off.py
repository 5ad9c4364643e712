"""How long a refused producer waits before it asks again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Line
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.model.event import Closed, ClosedBy, Fired, Frame
from assay_conformance.model.requirement import RequirementId

LEAST_ATTEMPTS = 3
"""Refused attempts in a row from which on the waits between them must have grown."""

LEAST_GROWTH = 2
"""By so much: the first and the third wait of a doubling backoff are four times apart, jitter aside."""


@dataclass(slots=True)
class _Outage:
    """Refused attempts of a line since it was last admitted. `waits_ns` are the waits behind all but the last."""

    refusals: list[Frame] = field(default_factory=list)
    waits_ns: list[int] = field(default_factory=list)
    looked_up_ns: int | None = None


class BacksOff(Check):
    """The waits between refused attempts grow, and start small again after a success.

    The first wait ends with the first LOOKUP or PRODUCER behind the refusal, later ones with PRODUCER alone: what else
    is slow about an attempt must neither hide growth nor look like it.
    """

    requirement = RequirementId("resend.reconnect-backoff")
    skips_plain = True

    def start(self) -> None:
        self._asked: dict[tuple[int, int], Line] = {}
        self._outages: dict[int, _Outage] = {}
        self._recovered: dict[int, tuple[Line, _Outage, Frame]] = {}
        self._fired: list[Fired] = []
        self._sent: dict[int, int] = {}
        """Connection -> `seq` of the last SEND there."""

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        self._sent[event.conn] = event.seq

    @on(Fired)
    def fired(self, event: Fired) -> None:
        self._fired.append(event)

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not event.from_sender or session is None or session.line is None or session.line.handle is None:
            return
        line = session.line
        self._asked[event.conn, event.request_id or 0] = line
        outage = self._outages.get(id(line))
        if outage is not None and outage.refusals:
            since_ns = outage.refusals[-1].t_ns
            first = not outage.waits_ns and outage.looked_up_ns is not None
            until_ns = outage.looked_up_ns if first and outage.looked_up_ns is not None else event.t_ns
            outage.waits_ns.append(until_ns - since_ns)
            self._judge_growth(line, outage, event)
        self._judge_reset(line, event)

    @on(Frame, "LOOKUP")
    def lookup(self, event: Frame) -> None:
        topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
        for line in self.tracker.lines.all:
            outage = self._outages.get(id(line))
            if line.topic == topic and outage is not None and outage.looked_up_ns is None:
                outage.looked_up_ns = event.t_ns

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        line = self._asked.pop((event.conn, event.request_id or 0), None)
        if line is not None and event.to_receiver:
            outage = self._outages.setdefault(id(line), _Outage())
            outage.refusals.append(event)

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        line = self._asked.pop((event.conn, event.request_id or 0), None)
        if line is None or not event.to_receiver:
            return
        outage = self._outages.pop(id(line), None)
        self._recovered.pop(id(line), None)
        if outage is not None and len(outage.refusals) >= LEAST_ATTEMPTS:
            self._recovered[id(line)] = (line, outage, event)

    def _judge_growth(self, line: Line, outage: _Outage, event: Frame) -> None:
        if len(outage.waits_ns) != LEAST_ATTEMPTS:
            return
        if self._interrupted(outage, event) or self._may_be_cut_short(line, event):
            return
        first, *later = outage.waits_ns
        if max(later[1:]) >= LEAST_GROWTH * first:
            self.exercise(event)
        elif self.tracker.load.fair(outage.refusals[0].t_ns, event.t_ns, TOLERANCES["answer"]):
            waits = ", ".join(ms(wait_ns) for wait_ns in outage.waits_ns)
            self.breach(
                "does-not-grow",
                f"{line} was refused {len(outage.refusals)} times from {ms(outage.refusals[0].t_ns)} on and tried "
                f"again after {waits}; waits that grow were expected",
                outage.refusals[0],
                event,
            )
        else:
            self.undecided("the machine was too busy to compare waits")

    def _interrupted(self, outage: _Outage, event: Frame) -> bool:
        """A connection was lost between two refusals: waits for another one are none between refusals."""
        since = outage.refusals[0].seq
        return any(since < lost.seq < event.seq and lost.by is not ClosedBy.CLIENT for lost in self._lost())

    def _may_be_cut_short(self, line: Line, event: Frame) -> bool:
        """Java and C++ shorten one wait so that an attempt falls just before the send time-out."""
        timeout_ms = self.view.producer_setting(line.handle or 0, "send_timeout_ms")
        admitted = [session.ready for session in line.sessions if session.ready is not None]
        since_ns = admitted[-1].t_ns if admitted else self.tracker.lines.openings[line.handle or 0].t_ns
        return bool(timeout_ms) and int(timeout_ms or 0) * MS < 2 * (event.t_ns - since_ns)

    def _judge_reset(self, line: Line, event: Frame) -> None:
        """The first attempt after an outage that was over."""
        _, outage, ready = self._recovered.pop(id(line), (line, None, event))
        lost = None if outage is None else self.tracker.closed.get(ready.conn)
        if outage is None or lost is None or lost.by is ClosedBy.CLIENT or self._hindered(lost, event):
            return
        if not self._was_heard(ready, lost):
            return
        timing = self.tracker.load.timing(lost.t_ns, lost.t_ns, event.t_ns, TOLERANCES["reconnect"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether a reconnect only came late")
        elif timing is Timing.LATE:
            self.breach(
                "does-not-reset",
                f"{line} was admitted at {ms(ready.t_ns)} after an outage and lost its connection at {ms(lost.t_ns)}; "
                f"it registered again at {ms(event.t_ns)}, expected within {TOLERANCES['reconnect'].slack_ms} ms",
                ready,
                lost,
                event,
            )
        else:
            self.exercise(event)

    def _was_heard(self, ready: Frame, lost: Closed) -> bool:
        """What was written towards a client just before the end of its connection may never have been read."""
        return self._sent.get(ready.conn, 0) > ready.seq or lost.t_ns > ready.t_ns + IN_FLIGHT_NS

    def _hindered(self, lost: Closed, event: Frame) -> bool:
        """Something else went wrong in between."""
        return any(lost.seq < harm.seq < event.seq for harm in (*self._fired, *self._lost()))

    def _lost(self) -> Iterable[Closed]:
        return self.tracker.closed.values()
