from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from assay_conformance.history.events import between, in_order
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import (
    FINAL_ERRORS,
    Breach,
    Producer,
    Request,
    Says,
    Timeline,
    breach,
    check,
    ms,
    precedence,
)
from assay_conformance.wire.service_urls import named_brokers


def _evicted(timeline: Timeline) -> Iterator[tuple[Frame, Producer]]:
    """Yield producers that their broker had admitted, each with the CLOSE_PRODUCER that ended it.

    Once a session; not one that was over before, nor one that the application had closed.
    """
    orders = timeline.events.frames("CLOSE_PRODUCER")
    errors = [one for one in timeline.events.frames("SEND_ERROR") if one.fields.get("error") in FINAL_ERRORS]
    over = {id(timeline.session_of(one)): one.seq for one in reversed(errors) if one.to_receiver}
    for order in orders:
        session = timeline.session_of(order) if order.dir is Direction.TO_CLIENT and order.to_receiver else None
        if session is None or session.line is None or session.admitted is None or session.admitted.seq > order.seq:
            continue
        if over.get(id(session), order.seq) >= order.seq and not session.line.closing_before(order.seq):
            yield order, session.line
        over[id(session)] = -1


def _lookup_steps(timeline: Timeline) -> dict[str, list[Frame]]:
    """Return by topic LOOKUPs and their answers, in order."""
    found: dict[str, list[Frame]] = {}
    for one in timeline.requests("LOOKUP"):
        steps = (step for step in (one.frame, one.answer) if step is not None)
        found.setdefault(timeline.local_topic(one.frame), []).extend(steps)
    return {topic: in_order(steps) for topic, steps in found.items()}


@check("resend.reconnects-after-close-producer", of=_evicted)
def reconnects_after_close_producer(timeline: Timeline, evicted: tuple[Frame, Producer]) -> Says:
    """resend.reconnects-after-close-producer: the broker's CLOSE_PRODUCER sends a producer back to LOOKUP and PRODUCER,
    and the connection is kept.

    A producer that nothing is sent by may come back when it is used next. Where the command names another broker no
    LOOKUP is needed. The client may close a connection on which something else went
    wrong, and one that carries nothing else. A refused LOOKUP may end the attempts: which errors are final is judged by
    other requirements.
    """
    order, producer = evicted
    timeline.owner(producer)
    spared = order.conn in timeline.left_unused or timeline.has_another_reason(order, producer)
    left = None if spared else timeline.left_over(order, producer)
    if left is not None and left.seq > order.seq:
        yield _breach("left-the-connection", evicted, f"the client closed the connection at {ms(left.t_ns)}", left)
        return
    since = bisect_right(producer.sessions, order.seq, key=lambda session: session.request.seq)
    back = next((session.request for session in producer.sessions[since : since + 1]), None)
    if back is not None:
        # A lookup that was under way for another producer or consumer of the topic may serve this one as well.
        steps = timeline.once(_lookup_steps).get(producer.topic, [])
        lookup = between(steps, order, back).first
        named = order if named_brokers(order.command, order.fields) else None
        came = f"PRODUCER followed at {ms(back.t_ns)} without a LOOKUP"
        yield from precedence(back, lookup or named, _breach("no-lookup", evicted, came, back))
        return
    lookups = [one for one in timeline.requests("LOOKUP") if timeline.local_topic(one.frame) == producer.topic]
    if not any(one.error and one.answer is not None and one.answer.seq > order.seq for one in lookups):
        until_ns = timeline.bounds.until(producer.closing, timeline.closed(order.conn))
        used_ns = min(_uses(timeline, order, producer), default=until_ns)
        since_ns = max(used_ns, _asked_in_vain_until(timeline, order, lookups, until_ns))
        if since_ns < until_ns and timeline.bounds.is_overdue("reconnect", since_ns, until_ns, what="a producer"):
            yield _breach("not-back", evicted, f"it did not register again before {ms(until_ns)}")


def _uses(timeline: Timeline, order: Frame, producer: Producer) -> Iterator[int]:
    """Yield the times of the sends that were open at the order, or called later, and need the producer.

    These are sends that left by it, or that have not left at all and may be meant for its partition.
    """
    for send in timeline.sends_of(producer.handle):
        unit = timeline.unit_with(send)
        if send.is_pending(order) and (unit is None or unit.line is producer):
            yield send.invoke.t_ns


def _asked_in_vain_until(timeline: Timeline, order: Frame, lookups: list[Request], until_ns: int) -> int:
    """Return until when the client may have waited for answers.

    A client waits for the answer to its lookup as long as any operation may take, or until the connection ends; what
    was answered late keeps it from registering until then.
    """
    waited_ns = [order.t_ns, *(one.answer.t_ns for one in lookups if one.answer is not None)]
    for lookup in lookups:
        if not lookup.is_answered and lookup.frame.seq > order.seq:
            closed = timeline.closed(lookup.frame.conn)
            waited_ns.append(until_ns if closed is None else closed.t_ns)
    return max(waited_ns)


def _breach(code: str, evicted: tuple[Frame, Producer], came: str, *proof: Event) -> Breach:
    order, producer = evicted
    return breach(
        code,
        f"{producer}: the broker closed it on connection {order.conn} at {ms(order.t_ns)}; a LOOKUP and another "
        f"PRODUCER were expected, with the connection kept; {came}",
        *(order, *proof),
    )
