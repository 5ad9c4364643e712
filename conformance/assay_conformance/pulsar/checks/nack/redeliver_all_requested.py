from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import moves_to_dead_letter
from assay_conformance.history.events import first_of
from assay_conformance.model.event import Completion, Frame, Outcome
from assay_conformance.pulsar.timeline import Delivery, Exercised, Says, Timeline, breach, check, ms


class _Called(NamedTuple):
    """A call for redelivery of everything that succeeded, a message that the application held on one topic, and the
    first request for that which followed."""

    end: Completion
    held: Delivery
    request: Frame | None


def _called(timeline: Timeline) -> Iterator[_Called]:
    """Yield each call with the first message that was held, and had not been requested, on each of its sessions."""
    for end in timeline.ends("redeliver_all"):
        consumer = timeline.consumer(end.handle)
        if end.outcome is not Outcome.OK or consumer is None or moves_to_dead_letter(timeline.view, consumer):
            continue
        called: dict[str, _Called] = {}
        for delivery in timeline.deliveries:
            topic = delivery.session.topic
            if delivery.session.consumer is consumer and topic not in called and _is_held(timeline, delivery, end):
                called[topic] = _Called(end, delivery, first_of(*_requests(timeline, delivery)))
        yield from called.values()


def _is_held(timeline: Timeline, delivery: Delivery, end: Completion) -> bool:
    """Return whether it had been received on a session that is still there, had not been requested since it came, and
    was not acknowledged before the call ended."""
    call, session = timeline.call(end), delivery.session
    return (
        timeline.session_at(delivery.consumer, session.topic, call) is session
        and any(message.seq < call.seq for message in delivery.received)
        and not timeline.is_ack_asked(delivery.consumer, delivery.entry, end)
        and all(request.seq > call.seq for request in _requests(timeline, delivery))
    )


def _requests(timeline: Timeline, delivery: Delivery) -> Iterator[Frame]:
    """Yield the first request for each copy of it that came on its session: a fault may make two of one."""
    for copy in timeline.copies(delivery.consumer, delivery.entry):
        if copy.session is delivery.session and copy.asked_again is not None:
            yield copy.asked_again


@check("nack.redeliver-all-requested", of=_called)
def redeliver_all_requested(timeline: Timeline, called: _Called) -> Says:
    """nack.redeliver-all-requested: when the application calls for redelivery of everything, its consumer requests
    what is held, on each topic, at once."""
    end, held, request = called
    call = timeline.call(end)
    over = timeline.consumer_sessions.end_after(held.session, call)
    seen_ns = timeline.bounds.until(request, over)
    if timeline.bounds.is_missing("answer", end.t_ns, seen_ns, what="a request for redelivery"):
        came = f"none came by {ms(seen_ns)}" if request is None else f"it left at {ms(seen_ns)}"
        yield breach(
            "not-requested",
            f"the application of consumer {end.handle} called for redelivery of everything at {ms(call.t_ns)}, and "
            f"held {held.entry}; expected a REDELIVER of that at once; {came}",
            *(held.frame, call, request),
        )
    elif request is not None:
        yield Exercised(request)
