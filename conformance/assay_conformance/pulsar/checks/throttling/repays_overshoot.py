from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.throttling._rates import check_measured, plain_limiters, throttles_all
from assay_conformance.pulsar.timeline import Exercised, Limiter, Says, Timeline, breach, check, ms


@check("throttling.repays-overshoot", of=plain_limiters, where=throttles_all)
def repays_overshoot(timeline: Timeline, limiter: Limiter) -> Says:
    """throttling.repays-overshoot: after a read that took more messages than there were tokens, nothing is sent until
    the tokens of later periods have covered the excess.

    What is sent within a tenth of a period counts as one read. When a read begins, the tokens that an earlier read had
    (at most the rate) plus those added since then must exceed what was sent since that earlier read began. In favour of
    the broker, a read is taken to have got its tokens when the one before it was sent; and the tokens of almost one
    more period may have been added late (AsyncTokenBucket adds tokens at most once a period). Several subscriptions
    with one limiter may read at the same time, and are not judged.
    """
    rate = limiter.rate.messages
    if len(limiter.subscriptions) > 1 or limiter.redelivered or rate <= 0:
        return
    reads = list(_reads(limiter))
    for place, (began, _) in enumerate(reads):
        if place and reads[place - 1][1] > rate:
            yield Exercised(began)
        since = 0
        for number, (earlier, count) in reversed(list(enumerate(reads[:place]))):
            since += count
            granted_ns = reads[number - 1][0].t_ns if number else limiter.began_ns
            flows_ns = began.t_ns - granted_ns + limiter.period_ns + limiter.period_ns // 8
            allowed = rate + rate * flows_ns // limiter.period_ns
            if since >= allowed:
                check_measured(timeline, earlier, began)
                yield breach(
                    "not-repaid",
                    f"{limiter.what} has a rate of {rate} messages per {limiter.rate.period_s} s; expected no dispatch "
                    f"at {ms(began.t_ns)}, since {since} messages had been sent since {ms(earlier.t_ns)}, and the rate "
                    f"allowed {allowed}",
                    *(earlier, began),
                )
                return


def _reads(limiter: Limiter) -> Iterator[tuple[Frame, int]]:
    """Yield reads, as first frame and count: what was sent within a tenth of a period counts as one."""
    began, count = limiter.frames[0], 0
    for frame, messages in zip(limiter.frames, limiter.messages, strict=True):
        if frame.t_ns - began.t_ns > limiter.period_ns // 10:
            yield began, count
            began, count = frame, 0
        count += messages
    yield began, count
