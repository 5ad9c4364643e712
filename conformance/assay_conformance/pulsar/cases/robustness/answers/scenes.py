"""How each request is made in each phase: what is opened, what is called, and which frame is the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from assay_conformance.cases.build import STARVED_MS, Schedule, down, up
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault, OnFrame
from assay_conformance.pulsar.cases.schema import FIRST, SECOND
from assay_conformance.pulsar.outcomes.requests import Phase, Request

Opens = Callable[[Schedule, int], int]
Calls = Callable[[Schedule, int], int]


class Scene(NamedTuple):
    """`opens` a handle with a client; `calls` on it what asks: where nothing does, opening it asks. `uses`: what shows
    that it is back."""

    opens: Opens
    uses: Calls
    calls: Calls | None = None
    capabilities: tuple[str, ...] = ("consumer",)
    ack_receipt: bool = False


def _producer(plan: Schedule, client: int) -> int:
    return plan.producer(client, wait=False)


def _consumer(plan: Schedule, client: int) -> int:
    return plan.consumer(client, wait=False)


def _pattern(plan: Schedule, client: int) -> int:
    return plan.consumer(client, ("t", "beside"), pattern=".*", wait=False)


def _reading(plan: Schedule, client: int) -> int:
    consumer = plan.consumer(client)
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    return consumer


def _reader_at_the_end(plan: Schedule, client: int) -> int:
    return plan.consumer(client, durable=False, initial_position="latest")


def _reading_two_versions(plan: Schedule, client: int) -> int:
    """Open a consumer that receives a value with another schema version than its own."""
    plan.wait_ops(plan.send(plan.producer(client, **FIRST)))
    plan.wait_ops(plan.close(plan.producer(client, **SECOND)))
    consumer = plan.consumer(client, **SECOND)
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    return consumer


def _open_producer(plan: Schedule, client: int) -> int:
    return plan.producer(client)


def _send(plan: Schedule, producer: int) -> int:
    return plan.send(producer, 2)


def _receive(plan: Schedule, consumer: int) -> int:
    return plan.receive(consumer, 1, STARVED_MS)


def _close(plan: Schedule, handle: int) -> int:
    return plan.close(handle)


def _seek(plan: Schedule, consumer: int) -> int:
    return plan.seek(consumer, delivery=1)


def _ack(plan: Schedule, consumer: int) -> int:
    return plan.ack(consumer)


def _unsubscribe(plan: Schedule, consumer: int) -> int:
    return plan.agent("unsubscribe", {"consumer": consumer})


def _ask_for_more(plan: Schedule, consumer: int) -> int:
    return plan.has_message_available(consumer)


def _value(plan: Schedule, consumer: int) -> int:
    return plan.value(consumer, messages=(4,))


_PATTERNS: Final = Scene(_pattern, _receive, capabilities=("consumer", "topic_patterns"))

SCENES: Final[Mapping[str, Scene]] = {
    "CONNECT": Scene(_consumer, _receive),
    "PARTITIONED_METADATA": Scene(_producer, _send, capabilities=("producer",)),
    "LOOKUP": Scene(_consumer, _receive),
    "PRODUCER": Scene(_producer, _send, capabilities=("producer",)),
    "SUBSCRIBE": Scene(_consumer, _receive),
    "SEND": Scene(_open_producer, _send, _send, ("producer",)),
    "ACK": Scene(_reading, _receive, _ack, ("consumer", "ack_receipt"), ack_receipt=True),
    "SEEK": Scene(_reading, _receive, _seek, ("consumer", "seek")),
    "UNSUBSCRIBE": Scene(_reading, _receive, _unsubscribe, ("consumer", "unsubscribe")),
    "CLOSE_PRODUCER": Scene(_open_producer, _send, _close, ("producer",)),
    "CLOSE_CONSUMER": Scene(_reading, _receive, _close),
    "GET_LAST_MESSAGE_ID": Scene(
        _reader_at_the_end, _ask_for_more, _ask_for_more, ("consumer", "reader", "has_message_available")
    ),
    "GET_TOPICS_OF_NAMESPACE": _PATTERNS,
    "GET_SCHEMA": Scene(_reading_two_versions, _receive, _value, ("producer", "consumer", "schema")),
    "WATCH_TOPIC_LIST": _PATTERNS._replace(capabilities=("consumer", "topic_patterns", "topic_watcher")),
}


class Played(NamedTuple):
    """A schedule that asks. `asked` and `answered` match the request and its answer; `more` is what brings its phase
    about. `after`: what is to go well once all is healed."""

    plan: Schedule
    asked: OnFrame
    answered: OnFrame
    more: tuple[Fault, ...]


def play(request: Request, phase: Phase, stored: Any, times: int) -> Played:
    """Return the steps of a request in a phase, whose faults fire `times` times."""
    scene = SCENES[request.command]
    plan, client = Schedule.with_client(stored=stored)
    more = _by_call(scene, plan, client, phase) if scene.calls else _at_once(scene, plan, client, request, phase)
    k = 2 if scene.calls is None and phase in _BACK else 1
    k += 1 if request.command == "SEND" and phase in _BACK else 0
    by_request = {"answers": request.command} if request.answer == "SUCCESS" else {}
    return Played(plan, up(request.command, k, times=times), down(request.answer, k, times=times, **by_request), more)


_BACK: Final = (Phase.RETURN, Phase.SENT_AWAY)


def _at_once(scene: Scene, plan: Schedule, client: int, request: Request, phase: Phase) -> tuple[Fault, ...]:
    """Open a handle that makes the request as it opens, and as it reconnects."""
    handle = scene.opens(plan, client)
    if phase is Phase.CLOSING:
        # A client that is closed before it has asked need not ask (`robustness/closed-before-connected-consumer`).
        plan.wait_frame(request.command, Direction.TO_BROKER)
        plan.close(client)
        plan.wait_ops()
        return ()
    plan.wait_ops(handle)
    if phase is Phase.OPENING:
        # A Java consumer of a pattern may be open before it asks to watch topics (PatternMultiTopicsConsumerImpl).
        plan.wait_fired(0)
        return ()
    if scene.uses is _send:
        plan.wait_ops(plan.send(handle))
    more = _sent_off(plan, phase, "", pending=handle if scene.uses is _send else None)
    plan.wait_fired(len(more))
    plan.wait_ops(scene.uses(plan, handle))
    return more


def _by_call(scene: Scene, plan: Schedule, client: int, phase: Phase) -> tuple[Fault, ...]:
    """Make the call on a handle that is open, or has reconnected."""
    assert scene.calls is not None
    handle = scene.opens(plan, client)
    more: tuple[Fault, ...] = ()
    if phase in _BACK:
        is_producer = scene.uses is _send
        if is_producer:
            plan.wait_ops(plan.send(handle))
        more = _sent_off(plan, phase, "PRODUCER_SUCCESS" if is_producer else "FLOW")
        if is_producer and scene.calls is not _send:
            plan.wait_ops(plan.send(handle))
    called = scene.calls(plan, handle)
    if phase is Phase.CLOSING:
        plan.close(handle)
        plan.wait_ops()
    plan.wait_ops(called)
    return more


def _sent_off(plan: Schedule, phase: Phase, again: str, pending: int | None = None) -> tuple[Fault, ...]:
    """Have what is open lose its connection, or its place on it; then wait until it is back, where that shows.

    A producer that is to have a send `pending` loses its connection over it, or has its place lost in front of its
    receipt.
    """
    more: tuple[Fault, ...] = ()
    if phase is Phase.RETURN and pending is not None:
        more = (Fault(trigger=up("SEND", 2), action=Cut(before=True)),)
        plan.send(pending)
        plan.wait_fired(0)
    elif phase is Phase.RETURN:
        more = (Fault(trigger=AfterStep(plan.last), action=Cut()),)
        plan.wait_fired(0)
    else:
        if pending is not None:
            plan.broker("hold_store", topic="t")
            plan.send(pending)
            plan.wait_sends(2)
        plan.broker("unload", topic="t")
    if again:
        to = Direction.TO_CLIENT if again == "PRODUCER_SUCCESS" else Direction.TO_BROKER
        plan.wait_frame(again, to, 2)
    return more
