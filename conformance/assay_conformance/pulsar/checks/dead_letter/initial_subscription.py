from assay_conformance.checks.consumption import in_force
from assay_conformance.pulsar.timeline import Exercised, Registration, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.letters import Kind


@check("dead-letter.initial-subscription", of=lambda timeline: timeline.producer_registrations)
def initial_subscription(timeline: Timeline, registration: Registration) -> Says:
    """dead-letter.initial-subscription: the PRODUCER of dead letters asks for the first subscription that was
    configured, where one is."""
    asked, producer, address = registration.frame, registration.producer, timeline.letters.address(registration.frame)
    if address is None or address.kind is not Kind.DEAD or (producer is not None and producer.handle is not None):
        return
    wanted = in_force(timeline.view, address.consumer, "dead_letter_subscription")
    if not wanted:
        return
    yield Exercised(asked)
    named = asked.fields.get("initial_subscription_name")
    if named != wanted:
        yield breach(
            "not-asked-for",
            f"consumer {address.consumer.handle} is configured with initial subscription {wanted!r} for its dead "
            f"letter topic; expected that in the PRODUCER for the topic; the one at {ms(asked.t_ns)} names "
            f"{named or 'none'}",
            *(address.consumer.invoke, asked),
        )
