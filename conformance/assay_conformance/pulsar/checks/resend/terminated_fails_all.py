from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import ErrorClass, Frame
from assay_conformance.pulsar.checks.resend._pending_sends import fail_soon
from assay_conformance.pulsar.timeline import Producer, ProducerSession, Says, Timeline, Why, breach, check, each, ms

TERMINATED = "TopicTerminatedError"


@check("resend.terminated-fails-all")
def terminated_fails_all(timeline: Timeline) -> Says:
    """resend.terminated-fails-all: once the broker has reported that the topic is terminated, pending sends fail soon
    with that error, and the producer does not register again.

    The report may be a SEND_ERROR, after which a client may register once more to get it again, or the answer to
    PRODUCER.
    """
    refusals = list(_refusals(timeline))
    for producer in timeline.producers if refusals else ():
        words = [word for whose, word in refusals if whose is producer]
        yield from each(producer.sessions, _stays_away, timeline, words)
    first: dict[Producer, Frame] = {}
    for producer, word in sorted([*refusals, *_send_errors(timeline)], key=lambda one: one[1].seq):
        first.setdefault(producer, word)
    for producer, word in first.items():
        yield from fail_soon(timeline, producer, word, "that the topic is terminated", ErrorClass.TERMINATED)


def _refusals(timeline: Timeline) -> Iterator[tuple[Producer, Frame]]:
    for one in timeline.producer_registrations:
        says_so = one.error == TERMINATED and timeline.had_been_admitted(one)
        if one.refusal is not None and one.producer is not None and says_so:
            yield one.producer, one.refusal


def _send_errors(timeline: Timeline) -> Iterator[tuple[Producer, Frame]]:
    """Yield errors on connections where nothing came before over which the client may have left."""
    for error in timeline.events.frames("SEND_ERROR"):
        session = timeline.session_of(error) if error.to_receiver and error.fields.get("error") == TERMINATED else None
        if session is not None and session.line is not None and not _has_had_trouble(timeline, error):
            yield session.line, error


def _has_had_trouble(timeline: Timeline, word: Frame) -> bool:
    """Return whether a receipt out of turn, or a SEND_ERROR for another reason, came before."""
    return any(
        why in (Why.RECEIPT_LATER, Why.RECEIPT_STALE)
        or (why is Why.SEND_ERROR and isinstance(event, Frame) and event.fields.get("error") != TERMINATED)
        for why, event in timeline.connection(word.conn).before(word)
    )


def _stays_away(timeline: Timeline, words: list[Frame], session: ProducerSession) -> Says:
    back = session.request
    word = next((word for word in reversed(words) if word.seq < back.seq), None)
    if word is not None and session.line is not None and timeline.was_read(word):
        timeline.handle(session.line)
        yield breach(
            "comes-back",
            f"{session.line}: its PRODUCER was refused at {ms(word.t_ns)} because the topic is terminated; expected "
            f"it not to register again; it did, on connection {back.conn} at {ms(back.t_ns)}",
            *(word, back),
        )
