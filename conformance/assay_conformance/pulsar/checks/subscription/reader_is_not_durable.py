from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import from_client, in_force
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Consumer, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.readers import is_reader


def _sessions(timeline: Timeline) -> Iterator[tuple[Consumer, ConsumerSession]]:
    return ((consumer, session) for consumer in timeline.consumers for session in consumer.sessions)


@check("subscription.reader-is-not-durable", of=_sessions)
def reader_is_not_durable(timeline: Timeline, one: tuple[Consumer, ConsumerSession]) -> Says:
    """subscription.reader-is-not-durable: every SUBSCRIBE of a reader says that its subscription is not durable, and no
    SUBSCRIBE of another consumer says so. Not judged is a consumer of a non-persistent topic, where a durable
    subscription keeps no more than another: the Java client asks for none."""
    (consumer, session), request = one, one[1].request
    durable = in_force(timeline.view, consumer, "durable") is not False
    if not from_client(request) or (durable and base_topic(session.topic) in timeline.non_persistent):
        return
    if durable is not is_reader(session):
        if not durable:
            yield Exercised(request)
        return
    what, no, but = ("consumer", "no", "one") if durable else ("reader", "a", "one that is not durable")
    yield breach(
        "not-durable" if durable else "durable",
        f"the SUBSCRIBE of {what} {consumer.handle} at {ms(request.t_ns)} asks for {no} durable subscription; expected "
        f"it to ask for {but}",
        *(consumer.invoke, request),
    )
