from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import ConsumerSession, Exercised, Member, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.subscriptions import SubscribeAnswered, Subscription


def _answered(timeline: Timeline) -> Iterator[tuple[Subscription, SubscribeAnswered, Frame]]:
    for subscription in timeline.steady_subscriptions:
        for asked in subscription.asked:
            if asked.answer is not None and subscription.kind_at(asked.answer) == "Exclusive":
                yield subscription, asked, asked.answer


@check("subscription.exclusive-one-consumer", of=_answered)
def exclusive_one_consumer(_timeline: Timeline, subject: tuple[Subscription, SubscribeAnswered, Frame]) -> Says:
    """subscription.exclusive-one-consumer: while a consumer is attached to an Exclusive subscription, another one is
    refused with ConsumerBusy. A consumer whose end the broker may have seen does not count: half-open connections may
    be replaced."""
    subscription, asked, answer = subject
    others = [other for other in subscription.living(answer) if _ids(other.session) != _ids(asked.session)]
    if asked.refused:
        if others and answer.fields.get("error") == "ConsumerBusy":
            yield Exercised(answer)
        return
    for other in others:
        yield breach(
            "second-admitted",
            f"{subscription}: {Member(asked.session, answer)} was admitted at {ms(answer.t_ns)} while {other} was "
            f"attached, since {ms(other.joined.t_ns)}; expected the error ConsumerBusy",
            *(other.joined, answer),
        )


def _ids(session: ConsumerSession) -> tuple[int, int]:
    return session.conn, session.consumer_id
