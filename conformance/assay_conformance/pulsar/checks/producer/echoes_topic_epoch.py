from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.timeline import (
    Exercised,
    Producer,
    ProducerSession,
    Registration,
    Says,
    Timeline,
    breach,
    check,
    ms,
)


def _returns(timeline: Timeline) -> Iterator[tuple[Registration, Registration]]:
    """Yield each PRODUCER of a producer that had been given an epoch, after the one that was given the last."""
    given: dict[Producer, list[Registration]] = {}
    for one in timeline.producer_registrations:
        before = given.setdefault(one.producer, []) if one.producer and one.producer.handle is not None else []
        epochs = [earlier for earlier in before if earlier.answer and earlier.answer.seq < one.frame.seq]
        if epochs:
            yield max(epochs, key=lambda earlier: earlier.answer.seq if earlier.answer else 0), one
        if one.answer is not None and one.answer.command == "PRODUCER_SUCCESS" and "topic_epoch" in one.answer.fields:
            before.append(one)


@check("producer.echoes-topic-epoch", of=_returns)
def echoes_topic_epoch(timeline: Timeline, registrations: tuple[Registration, Registration]) -> Says:
    """producer.echoes-topic-epoch: a producer that has read a topic_epoch in its PRODUCER_SUCCESS repeats it in each
    later PRODUCER."""
    before, back = registrations
    given, again, session = before.answer, back.frame, before.session
    # One that has sent anything had read that it was admitted.
    sent = session.first_send if isinstance(session, ProducerSession) else None
    has_sent = sent is not None and sent.seq < again.seq
    if given is None or not (has_sent or timeline.had_time_to_read(given, again)):
        return
    yield Exercised(again)
    epoch, named = int(given.fields["topic_epoch"]), again.fields.get("topic_epoch")
    if named != epoch:
        yield breach(
            "epoch-not-said",
            f"{back.producer} got topic_epoch {epoch} of {back.session.topic} at {ms(given.t_ns)}; expected it in "
            f"each later PRODUCER, since the broker fences by it; that of {ms(again.t_ns)} has "
            f"{'none' if named is None else named}",
            *(given, again),
        )
