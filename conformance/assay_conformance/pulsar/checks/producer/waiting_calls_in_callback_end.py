from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.checks.producer._callbacks import judge_ends, waits
from assay_conformance.pulsar.timeline import Says, Timeline, check
from assay_conformance.pulsar.timeline.callbacks import CalledIn


def _called(timeline: Timeline) -> Iterator[CalledIn]:
    return (one for one in timeline.calls_in_callbacks if not one.beside and waits(timeline, one.invoke))


@check("producer.waiting-calls-in-callback-end", of=_called)
def waiting_calls_in_callback_end(timeline: Timeline, called: CalledIn) -> Says:
    """producer.waiting-calls-in-callback-end: a call that waits for its broker, such as a flush, a close, a seek or a
    blocking send, ends when it is made in the callback of a send."""
    yield from judge_ends(timeline, called)
