from __future__ import annotations

from itertools import takewhile

from assay_conformance.pulsar.timeline import Exercised, Registration, Says, Timeline, breach, check, ms


@check("producer.keeps-assigned-name", of=lambda timeline: timeline.producer_registrations)
def keeps_assigned_name(timeline: Timeline, registration: Registration) -> Says:
    """producer.keeps-assigned-name: a producer without a configured name registers again under the name that the broker
    assigned, with user_provided_producer_name = false.

    The client has certainly read the name once the producer was reported as open. Where it took several registrations
    until then, each with another name, it may have read any of them.
    """
    producer, frame = registration.producer, registration.frame
    opened = None if producer is None or producer.handle is None else timeline.opened_producers.get(producer.handle)
    if producer is None or opened is None or opened.seq > frame.seq:
        return
    until_opened = takewhile(lambda one: one.request.seq < opened.seq, producer.sessions)
    answers = [one.admitted for one in until_opened if one.admitted and one.admitted.seq < opened.seq]
    if not answers or timeline.view.producer_setting(producer.handle or 0, "producer_name"):
        return
    yield Exercised(frame)
    name, given = frame.fields.get("producer_name"), answers[-1]
    if name not in [answer.fields.get("producer_name") for answer in answers]:
        code, came = "other-name", f"asked for the name {name!r}"
    elif frame.fields.get("user_provided_producer_name", True):
        came = "did not say that the name came from the broker (user_provided_producer_name = false)"
        code = "claims-own-name"
    else:
        return
    yield breach(
        code,
        f"producer {producer.handle} got the name {given.fields.get('producer_name')} from the broker at "
        f"{ms(given.t_ns)}; expected it to register again under that name, as one that the broker assigned; its "
        f"PRODUCER on connection {frame.conn} at {ms(frame.t_ns)} {came}",
        *(given, frame),
    )
