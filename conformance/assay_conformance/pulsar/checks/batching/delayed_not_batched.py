from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.timeline import Exercised, Says, Send, Timeline, Unit, breach, check, each, ms


@check("batching.delayed-not-batched")
def delayed_not_batched(timeline: Timeline) -> Says:
    """batching.delayed-not-batched: a message with a delivery time leaves in an entry of its own that carries the time,
    after the batch that was open. Order is judged on each topic or partition by the numbers of messages."""
    delayed = list(_delayed(timeline))
    yield from each({id(one[1]): one for one in reversed(delayed)}.values(), _judge_alone)
    yield from each(delayed, _keeps_its_place)


def _delayed(timeline: Timeline) -> Iterator[tuple[Send, Unit]]:
    """Yield messages with a delivery time, and what they left in."""
    for producer in timeline.producers:
        batches = timeline.view.producer_setting(producer.handle or 0, "batching") is True
        if batches and any(is_delayed(send) for send in timeline.sends_of(producer.handle)):
            for unit in producer.units:
                yield from ((send, unit) for send in timeline.sends(unit) if is_delayed(send))


def is_delayed(send: Send) -> bool:
    """Return whether the send has a delivery time, or a delay."""
    return any(send.invoke.args.get(key) is not None for key in ("deliver_after_ms", "deliver_at_ms"))


def _judge_alone(delayed: tuple[Send, Unit]) -> Says:
    (send, unit), frame = delayed, delayed[1].first
    asked = (
        f"{unit.line}: message {send.invoke.number} was sent with a delivery time at {ms(send.invoke.t_ns)}; expected "
        f"an entry of its own with that time; its SEND at {ms(frame.t_ns)}"
    )
    if frame.meta is not None and frame.meta.deliver_at_ms is None:
        yield breach("time-lost", f"{asked} carries none", send.invoke, frame)
    elif frame.meta is not None and len(unit.numbers) > 1:
        others = len(unit.numbers) - 1
        yield breach("batched", f"{asked} holds {others} other messages", send.invoke, frame)


def _keeps_its_place(delayed: tuple[Send, Unit]) -> Says:
    (send, unit), number = delayed, delayed[0].invoke.number or 0
    older = [other for other in unit.line.units if other.numbers and other.numbers[0] < number]
    waiting = any(other.first.t_ns >= send.invoke.t_ns for other in older)
    if waiting and unit.first.meta is not None and unit.first.meta.deliver_at_ms is not None:
        yield Exercised(unit.first)
    passed = next((other for other in older if other.index > unit.index), None)
    if passed is not None:
        yield breach(
            "overtakes-batch",
            f"{unit.line}: delayed message {number} left at {ms(unit.first.t_ns)}; expected it after the batch that "
            f"was open; {passed}, which is older, left at {ms(passed.first.t_ns)}",
            *(send.invoke, unit.first, passed.first),
        )
