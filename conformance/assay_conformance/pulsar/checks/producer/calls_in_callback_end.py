from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.checks.producer._callbacks import judge_ends, waits
from assay_conformance.pulsar.timeline import Says, Timeline, check
from assay_conformance.pulsar.timeline.callbacks import CalledIn


def _called(timeline: Timeline) -> Iterator[CalledIn]:
    return (one for one in timeline.calls_in_callbacks if one.beside or not waits(timeline, one.invoke))


@check("producer.calls-in-callback-end", of=_called)
def calls_in_callback_end(timeline: Timeline, called: CalledIn) -> Says:
    """producer.calls-in-callback-end: a call that is made in the callback of a send, and does not wait for its broker
    there, ends; so does a call of another thread that is made while the callback runs, once that has returned.

    Nothing is said of calls that wait for their broker in the callback (`producer.waiting-calls-in-callback-end`), nor
    where a fault or a loss was in the way.
    """
    yield from judge_ends(timeline, called)
