from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from assay_conformance.model.event import Completion, ErrorClass, Outcome
from assay_conformance.pulsar.timeline import Exercised, Routed, Says, Timeline, breach, check, each, is_keyless, ms


@check("routing.avoids-full-partition")
def avoids_full_partition(timeline: Timeline) -> Says:
    """routing.avoids-full-partition: whether a message without a key goes to another partition when the next one in
    turn has a full queue. Reported of each client, not judged: under round robin without batching, where the previous
    message is known."""
    yield from each(_neighbours(timeline), _steers, timeline)
    yield from each(timeline.failed_sends, _judge_refused, timeline)


def _neighbours(timeline: Timeline) -> Iterator[tuple[Routed, Routed]]:
    """Yield pairs of neighbours. A message with a key has no turn, nor has what follows it."""
    for messages in timeline.routed_by_producer.values():
        for before, message in pairwise(messages):
            known = before.number == message.number - 1 and before.is_keyless and message.is_keyless
            if known and message.producer.takes_turns(batching=False):
                yield before, message


def _steers(timeline: Timeline, messages: tuple[Routed, Routed]) -> Says:
    before, message = messages
    turn, seq = (before.partition + 1) % message.producer.partitions, message.frame.seq
    if message.partition != turn and timeline.partition_queues.is_full(message.producer, turn, seq):
        yield breach(
            "steers",
            f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}, and not to partition "
            f"{turn}, which was next and whose queue was full",
            *(before.frame, message.frame),
        )


def _judge_refused(timeline: Timeline, end: Completion) -> Says:
    """Judge a send that fails as its queue is full while another partition has room."""
    messages = timeline.routed_by_producer.get(end.handle or 0)
    refused = end.outcome is Outcome.FAIL and end.error is ErrorClass.QUEUE_FULL
    if not refused or not messages or messages[0].frame.seq > end.seq or not is_keyless(timeline.call(end)):
        return
    producer, is_full = messages[0].producer, timeline.partition_queues.is_full
    full = all(is_full(producer, partition, end.seq) for partition in range(producer.partitions))
    if producer.takes_turns(batching=False) and not full:
        yield Exercised(end)
