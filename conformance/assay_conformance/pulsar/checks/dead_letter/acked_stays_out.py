from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.checks.consumption import in_force
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.timeline import Call, Delivery, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.letters import Kind, Letter


@check("dead-letter.acked-stays-out", of=lambda timeline: timeline.letters.of(Kind.DEAD))
def acked_stays_out(timeline: Timeline, letter: Letter) -> Says:
    """dead-letter.acked-stays-out: a message of a batch that the application has acknowledged does not become a dead
    letter with others of the batch, which are refused after that.

    Judged with acknowledgment by batch index: without, a batch is acknowledged or redelivered as a whole. And where the
    message did not come again after the copy that was acknowledged: then its acknowledgment may be lost, or too late
    for what is being moved by then, for it goes to the dead letter topic unseen when it comes too often.
    """
    if in_force(timeline.view, letter.address.consumer, "batch_index_ack") is not True:
        return
    origin, index = letter.origin, _index(timeline, letter)
    if origin is None or index is None or letter.again or any(one.origin == origin for one in timeline.letters.rounds):
        return
    calls = _calls(timeline, letter, origin)
    own = [call for call in calls if call.cumulative or call.message.message_id.batch_index == index]
    if not own or not any(call.invoke.verb == "ack" for call in calls):
        return
    last = own[-1]
    if last.invoke.verb != "ack":
        yield Exercised(letter.frame)
        return
    end, copies = last.operation.completion, [one for one in timeline.deliveries if one.came and one.entry == origin]
    refused = any(call.invoke.verb == "nack" and call.invoke.seq > last.invoke.seq for call in calls)
    if end is None or end.outcome is not Outcome.OK or not refused or _comes_again(copies, last, letter):
        return
    yield breach(
        "acked",
        f"{letter} left at {ms(letter.frame.t_ns)}; expected none for message {index} of that batch, which the "
        f"application had acknowledged at {ms(last.invoke.t_ns)}",
        *(last.invoke, letter.frame),
    )


def _index(timeline: Timeline, letter: Letter) -> int | None:
    """Return which message of a batch it is a copy of, where its payload shows it."""
    original = None if letter.origin is None else timeline.letters.message_of(letter.origin)
    if original is None or original.meta.batch is None or not letter.members:
        return None
    found = [index for index, one in enumerate(original.members) if one.payload == letter.members[0].payload]
    return found[0] if len(found) == 1 else None


def _calls(timeline: Timeline, letter: Letter, origin: Entry) -> list[Call]:
    """Return what was asked of the batch ahead of the letter, by any consumer of the subscription, in order."""
    subscription = letter.address.consumer.subscription
    those = (one for one in timeline.consumers if one.subscription == subscription)
    calls = (call for consumer in those for call in timeline.calls_about(consumer, origin))
    return sorted((call for call in calls if call.invoke.seq < letter.frame.seq), key=lambda call: call.invoke.seq)


def _comes_again(copies: Sequence[Delivery], acked: Call, letter: Letter) -> bool:
    """Return whether its entry came once more between the copy that was acknowledged and the letter."""
    since = next((copy.frame.seq for copy in copies if acked in copy.calls), acked.invoke.seq)
    return any(since < copy.frame.seq < letter.frame.seq for copy in copies)
