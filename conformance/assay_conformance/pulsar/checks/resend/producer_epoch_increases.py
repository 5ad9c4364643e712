from __future__ import annotations

from assay_conformance.model.event import Fired, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.outcomes.errors import PASSING_ERRORS
from assay_conformance.pulsar.timeline import Exercised, ProducerSession, Says, Timeline, breach, check, ms


@check("resend.producer-epoch-increases", of=lambda timeline: timeline.producer_sessions)
def producer_epoch_increases(timeline: Timeline, session: ProducerSession) -> Says:
    """resend.producer-epoch-increases: each PRODUCER after one that the broker admitted carries a greater epoch; none
    carries a smaller one.

    The first carries 0. Judged where nothing had gone wrong in the Case before it: some clients count attempts that
    ended before their PRODUCER.
    """
    producer, asked = session.line, session.request
    if producer is None:
        return
    timeline.handle(producer)
    before = producer.last_session(asked.seq)
    if before is None:
        yield from _begins_with_zero(timeline, session)
    elif not _is_another(timeline, before, session):
        epoch, earlier = _epoch(asked), _epoch(before.request)
        admitted = _was_let_in(timeline, before, asked)
        if admitted:
            yield Exercised(asked)
        if epoch < earlier or (admitted and epoch == earlier):
            expected = f"more than {earlier}" if admitted else f"{earlier} or more"
            yield breach(
                "epoch-does-not-grow",
                f"{producer}: its PRODUCER on connection {asked.conn} at {ms(asked.t_ns)} carries epoch {epoch}; after "
                f"the one at {ms(before.request.t_ns)} {expected} was expected",
                *(before.request, asked),
            )


def _epoch(asked: Frame) -> int:
    return int(asked.fields.get("epoch", 0))


def _is_another(timeline: Timeline, before: ProducerSession, session: ProducerSession) -> bool:
    """Return whether the producer on that partition is a new one.

    Its client closed the one before, or that was refused for good, admitted in an answer that was not read or never
    answered, and the next send opens one with an id of its own.
    """
    if _was_closed_by_its_client(timeline, before, session.request):
        return True
    if before.admitted is not None and not _was_let_in(timeline, before, session.request):
        return before.producer_id != session.producer_id
    answers = [one for one in timeline.answers_to(before.request) if one.seq < session.request.seq]
    final = (one.command == "ERROR" and one.fields.get("error") not in PASSING_ERRORS for one in answers)
    refused = not answers or any(final)
    return refused and before.producer_id != session.producer_id


def _was_let_in(timeline: Timeline, session: ProducerSession, until: Frame) -> bool:
    """Return whether it was admitted before an event, and its client read the answer.

    The connection did not end at that moment, and the client did not end it over what came ahead of the answer.
    """
    admitted = session.admitted
    if admitted is None or admitted.seq > until.seq:
        return False
    if session.first_send is None and not timeline.was_read(admitted):
        return False
    return not timeline.connection(session.conn).may_be_left_before(admitted)


def _was_closed_by_its_client(timeline: Timeline, session: ProducerSession, until: Frame) -> bool:
    close = timeline.once(_first_closes).get((session.conn, session.producer_id))
    return close is not None and close.seq < until.seq


def _first_closes(timeline: Timeline) -> dict[tuple[int, int], Frame]:
    """Return by connection and producer id the first CLOSE_PRODUCER of the client."""
    found: dict[tuple[int, int], Frame] = {}
    for one in timeline.events.frames("CLOSE_PRODUCER"):
        if one.dir is Direction.TO_BROKER and one.from_sender:
            found.setdefault((one.conn, one.producer_id or 0), one)
    return found


def _begins_with_zero(timeline: Timeline, session: ProducerSession) -> Says:
    asked, epoch, opening = session.request, _epoch(session.request), timeline.opening(session.line)
    at_once = opening is not None and not timeline.bounds.is_past("at-once", opening.t_ns, asked.t_ns)
    if epoch and at_once and not _was_disturbed(timeline, asked):
        yield breach(
            "first-epoch-not-zero",
            f"{session.line}: its first PRODUCER, on connection {asked.conn} at {ms(asked.t_ns)}, carries epoch "
            f"{epoch}, expected 0",
            asked,
        )


def _was_disturbed(timeline: Timeline, asked: Frame) -> bool:
    """Return whether something before made a client try again."""
    events = timeline.events
    closes = (one for one in events.frames("CLOSE_PRODUCER") if one.dir is Direction.TO_CLIENT)
    first = (*events.of(Fired)[:1], *timeline.disconnections[:1], *events.frames("ERROR")[:1], next(closes, asked))
    return any(one.seq < asked.seq for one in first)
