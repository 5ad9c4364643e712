from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import check_measured, plain_limiters, throttles_all
from assay_conformance.pulsar.checks.throttling._windows import reads
from assay_conformance.pulsar.timeline import Exercised, Limiter, Says, Timeline, breach, check, ms


@check("throttling.reads-within-quota", of=plain_limiters, where=throttles_all)
def reads_within_quota(timeline: Timeline, limiter: Limiter) -> Says:
    """throttling.reads-within-quota: a read takes no more entries than there are tokens. Two reads within a tenth of a
    period, one at the end of a period and one in the next, have the tokens of both."""
    rate = limiter.rate.messages
    most = 2 * rate * limiter.concurrent_reads
    for began, last, entries, _ in reads(limiter) if 0 < rate < sum(limiter.messages) else ():
        yield Exercised(began)
        if entries > most:
            check_measured(timeline, began, last)
            yield breach(
                "read-too-large",
                f"{limiter.what} has a rate of {rate} messages per {limiter.rate.period_s} s; expected reads of at "
                f"most {most} entries within a tenth of a period; {entries} were sent from {ms(began.t_ns)} to "
                f"{ms(last.t_ns)}",
                *(began, last),
            )
            return
