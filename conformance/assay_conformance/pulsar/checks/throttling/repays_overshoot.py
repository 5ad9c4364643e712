from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import check_measured, plain_limiters, throttles_all
from assay_conformance.pulsar.checks.throttling._windows import reads
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
    known = list(reads(limiter))
    for place, (began, *_) in enumerate(known):
        if place and known[place - 1].messages > rate:
            yield Exercised(began)
        since = 0
        for number, (earlier, _, _, count) in reversed(list(enumerate(known[:place]))):
            since += count
            granted_ns = known[number - 1].began.t_ns if number else limiter.began_ns
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
