"""Troubles: when a producer or consumer had a problem, or kept the client busy, so that others of the client might be
affected.

| what         | from             | until                                                           |
|--------------|------------------|-----------------------------------------------------------------|
| a call of it | the call         | its end, where that came later than an answer, or was a failure |
| its message  | the MESSAGE      | the application got it, where it did that late, or never        |
| its handler  | the call of that | its end                                                         |
| its nack     | the nack         | the client requested redelivery                          |
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from assay_conformance.judging.tolerance import TOLERANCES, ms
from assay_conformance.model.event import Event, Outcome
from assay_conformance.pulsar.timeline.handlers import done_ns

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.timeline import Timeline

_CALLS: Final = (
    "open_producer",
    "open_consumer",
    "send",
    "receive",
    "flush",
    "seek",
    "unsubscribe",
    "has_message_available",
    "last_message_id",
    "close",
)
_LEAST_NS: Final = TOLERANCES["answer"].slack_ns


class Trouble(NamedTuple):
    """A time in which one handle had a problem. `what` and `did` put it into words; `event` shows it."""

    handle: int
    event: Event
    what: str
    did: str
    since_ns: int
    until_ns: int

    def __str__(self) -> str:
        return f"{self.what} of handle {self.handle} {self.did} from {ms(self.since_ns)} to {ms(self.until_ns)}"


class Troubles:
    """Those of one attempt: by handle, in order, where they overlap only the one that lasts longest."""

    def __init__(self, timeline: Timeline) -> None:
        self._of: dict[int, list[Trouble]] = {}
        found = chain(_calls(timeline), _unread(timeline), _handlers(timeline), _nacked(timeline))
        for trouble in sorted(found, key=lambda one: (one.since_ns, -one.until_ns)):
            there = self._of.setdefault(trouble.handle, [])
            if not there or there[-1].until_ns < trouble.until_ns:
                there.append(trouble)

    def beside(self, handle: int, since_ns: int, until_ns: int) -> Trouble | None:
        """Return a trouble of another handle that went on at some time between these."""
        for other, troubles in self._of.items():
            # Of a handle they begin and end in the same order.
            place = bisect_left(troubles, since_ns, key=lambda one: one.until_ns)
            if other != handle and place < len(troubles) and troubles[place].since_ns <= until_ns:
                return troubles[place]
        return None


def _calls(timeline: Timeline) -> Iterator[Trouble]:
    for call in timeline.events.invokes(*_CALLS):
        end = timeline.end_of(call.op)
        until_ns = timeline.bounds.end_ns if end is None else done_ns(end)
        failed = end is not None and end.outcome is not Outcome.OK
        if call.handle is not None and (failed or until_ns - call.t_ns > _LEAST_NS):
            yield Trouble(call.handle, call, call.verb, "went on", call.t_ns, until_ns)


def _unread(timeline: Timeline) -> Iterator[Trouble]:
    for delivery in timeline.deliveries:
        consumer, ended = delivery.session.consumer, delivery.session.ended
        until_ns = timeline.bounds.until(*delivery.received[:1], ended)
        is_long = not delivery.received or until_ns - delivery.frame.t_ns > _LEAST_NS
        if consumer is not None and delivery.came and is_long:
            yield Trouble(
                consumer.handle,
                delivery.frame,
                "a message",
                "waited unread",
                delivery.frame.t_ns,
                until_ns,
            )


def _handlers(timeline: Timeline) -> Iterator[Trouble]:
    for call in timeline.handler_calls:
        until_ns = timeline.bounds.until(call.ended_ns)
        yield Trouble(
            call.consumer.handle,
            call.message,
            "the handler",
            "ran",
            call.began_ns,
            until_ns,
        )


def _nacked(timeline: Timeline) -> Iterator[Trouble]:
    for delivery in timeline.deliveries if timeline.nacking else ():
        for call in delivery.calls:
            if call.invoke.verb == "nack":
                until_ns = timeline.bounds.until(delivery.asked_again, delivery.session.ended)
                yield Trouble(
                    call.consumer.handle,
                    call.invoke,
                    "a nack",
                    "was open",
                    call.invoke.t_ns,
                    until_ns,
                )
