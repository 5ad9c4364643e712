from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, Invoke, Outcome, Overdue, Received
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.handlers import is_let_wait


def _inside(timeline: Timeline) -> Iterator[Invoke]:
    """Return what was called in a handler call."""
    return (call for call in timeline.events.invokes("ack", "nack", "close") if "inside" in call.args)


@check("listener.calls-inside-succeed", of=_inside)
def calls_inside_succeed(timeline: Timeline, invoke: Invoke) -> Says:
    """listener.calls-inside-succeed: acknowledge, negative_acknowledge and close succeed when they are called inside a
    handler, before the handler returns.

    Not judged where a fault acted on its topics or a connection was lost: such a call may fail anywhere. Nor where no
    receive had returned the message: its handler call began too late for one, and the agent has not let it wait.
    """
    end = timeline.end_or_overdue(invoke.op)
    what = f"{invoke.verb} was called in a handler call of consumer {invoke.handle} at {ms(invoke.t_ns)}"
    if isinstance(end, Completion) and end.outcome is Outcome.OK:
        yield Exercised(end)
    elif end is None or _is_disturbed(timeline, invoke, end) or not is_let_wait(timeline.events, invoke):
        return
    elif isinstance(end, Overdue):
        timeline.bounds.check_fair("answer", invoke.t_ns, end.t_ns, what="whether a call only ended late")
        yield breach("never-ended", f"{what}; expected it to end; it had not by {ms(end.t_ns)}", invoke, end)
    elif end.outcome is not Outcome.UNSUPPORTED:
        error = end.error.value if end.error else end.outcome.value
        yield breach("failed", f"{what}; expected it to succeed; it ended as {error}: {end.text}", invoke, end)


def _is_disturbed(timeline: Timeline, invoke: Invoke, end: Completion | Overdue) -> bool:
    """Return whether anything may have been in its way: of a topic that it is not about nothing is."""
    consumer = timeline.consumer(invoke.handle)
    if consumer is None or (consumer.closing is not None and consumer.closing.seq < invoke.seq):
        return True
    topics = consumer.topics if invoke.verb == "close" else _topics(timeline, invoke)
    obstacles = timeline.obstacles.between(consumer.invoke.t_ns, end, consumer.handle, topics)
    return any(one.about.topic is None or one.about.topic in topics for one in obstacles)


def _topics(timeline: Timeline, invoke: Invoke) -> set[str]:
    """Return the topics of the messages that a call names."""
    named = set(invoke.args.get("messages", ()))
    messages = (one for one in timeline.events.of(Received) if one.handle == invoke.handle and one.delivery in named)
    entries = (timeline.entry_of(one) for one in messages)
    return {base_topic(entry.topic) for entry in entries if entry is not None}
