"""Events and faults in words: one table row a type, for the page, the terminal and JUnit alike.

Texts of agents and wires pass through as they came; who shows them cleans and escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from assay_conformance.model import event as ev
from assay_conformance.model import fault as fl
from assay_conformance.model import outside as out
from assay_conformance.model.case import Case
from assay_reports.text import counted, ms, one_line

LONGEST_TEXT = 120


class Lane(StrEnum):
    """Whose story an event belongs to."""

    CLIENT = "client"
    WIRE = "wire"
    BROKER = "broker"
    BENCH = "bench"


LANE_OF: dict[type, Lane] = {
    **dict.fromkeys((ev.Invoke, ev.Completion, ev.Received, ev.Handled, ev.Note, ev.Garbled), Lane.CLIENT),
    # What the bench says of the client stands in the client's lane: it is what the client did not do.
    **dict.fromkeys((ev.Overdue, ev.AgentEnded, ev.ClockOffset, ev.Load), Lane.CLIENT),
    **dict.fromkeys((ev.Opened, ev.Closed, ev.Frame, ev.Undecodable), Lane.WIRE),
    **dict.fromkeys((ev.Stored, ev.ReadBack, ev.Cursor), Lane.BROKER),
    **dict.fromkeys((ev.Fired, ev.Healed), Lane.BENCH),
    **dict.fromkeys((ev.Began, ev.Stepped, ev.Waited, ev.Ended), Lane.BENCH),
}


def event_words(event: ev.Event) -> str:
    """Return what happened, in a line without time and lane."""
    return one_line(_EVENTS[type(event)](event), LONGEST_TEXT)


def message_id(id: ev.MessageId) -> str:
    """Return an id as `ledger:entry`, with partition and batch index where it has any.

    The id of a duplicate's receipt is `-1:-1`, whatever its fields hold.
    """
    parts = ["-1:-1" if id.is_duplicate_marker else f"{id.ledger}:{id.entry}"]
    if id.partition >= 0:
        parts.append(f"partition {id.partition}")
    if id.batch_index >= 0:
        parts.append(f"index {id.batch_index} of {id.batch_size}")
    return " ".join(parts)


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _some(ids: tuple[ev.MessageId, ...]) -> str:
    shown = ", ".join(message_id(id) for id in ids[:3])
    return f"{shown} and {len(ids) - 3} more" if len(ids) > 3 else shown


def _invoke(event: ev.Invoke) -> str:
    return _joined(
        event.verb,
        f"message {event.number}" if event.number is not None else "",
        f"· handle {event.handle}" if event.handle is not None else "",
        f"· op {event.op}",
    )


def _completion(event: ev.Completion) -> str:
    return _joined(
        f"{event.verb}: {event.outcome.value}",
        message_id(event.message_id) if event.message_id else "",
        f"sequence id {event.sequence_id}" if event.sequence_id is not None else "",
        counted(event.count, "message") if event.count is not None else "",
        event.error.value if event.error else "",
        f"“{event.text}”" if event.text else "",
        f"· op {event.op}",
    )


def _received(event: ev.Received) -> str:
    return _joined(
        "" if event.called_ns is None else "handler called:",
        f"received message {event.identity.number}" if event.identity else "received",
        message_id(event.message_id),
        f"redelivery {event.redelivery_count}" if event.redelivery_count else "",
        f"· delivery {event.delivery} of handle {event.handle}",
    )


def _handled(event: ev.Handled) -> str:
    end = "raised an exception" if event.raised else "returned"
    return f"handler {end} · delivery {event.delivery} of handle {event.handle}"


_FRAME_FIELDS: tuple[tuple[str, str], ...] = (
    ("producer_id", "producer"),
    ("consumer_id", "consumer"),
    ("request_id", "request"),
    ("sequence_id", "sequence"),
    ("permits", "permits"),
    ("ack_type", "ack"),
)
"""Frame field -> its word; in this order."""

_TOLD_FIELDS = (
    *("error", "message", "validation_error", "subscription", "producer_name", "last_sequence_id"),
    *("client_version", "server_version"),
)
"""Of the rarer fields those that matter to a story; topics are long and the same all through it."""


def _frame(event: ev.Frame) -> str:
    fields = [f"{word} {value}" for name, word in _FRAME_FIELDS if (value := getattr(event, name)) is not None]
    meta = event.meta
    return _joined(
        event.command,
        " ".join(fields),
        _some(event.ids),
        f"chunk {meta.chunk_id} of {meta.chunks}" if meta and meta.chunk_id is not None else "",
        f"batch of {meta.batch}" if meta and meta.batch is not None else "",
        f"redelivery {event.redelivery_count}" if event.redelivery_count else "",
        "checksum wrong" if event.intact is False else "",
        " ".join(f"{name} {event.fields[name]}" for name in _TOLD_FIELDS if name in event.fields),
        f"· {event.fate.value}" if event.fate is not ev.Fate.PASSED else "",
        f"· conn {event.conn}",
    )


def _closed(event: ev.Closed) -> str:
    return f"connection {event.conn} {'reset' if event.reset else 'closed'} by {event.by.value}"


def _stored(event: ev.Stored) -> str:
    if event.described is None:
        return f"stored {message_id(event.id)} in {event.topic}: its metadata cannot be decoded"
    return _joined(
        f"stored {message_id(event.id)} in {event.topic}:",
        f"sequence {event.meta.sequence_id} of {event.meta.producer_name}",
        f"chunk {event.meta.chunk_id} of {event.meta.chunks}" if event.meta.chunk_id is not None else "",
        counted(len(event.members), "message") if len(event.members) > 1 else "",
    )


def _cursor(event: ev.Cursor) -> str:
    return _joined(
        f"{event.subscription} on {event.topic}:",
        f"acked up to {message_id(event.mark_delete)}" if event.mark_delete else "nothing acked in line",
        f"and {_some(event.acked)}" if event.acked else "",
        f"· backlog {event.backlog}",
    )


def _fired(event: ev.Fired) -> str:
    frames = f"on frame {', '.join(map(str, event.frames[:4]))}" if event.frames else ""
    conn = f"on connection {event.conn}" if event.conn is not None and not frames else ""
    return _joined(f"fault {event.fault} fired: {event.action}", frames, conn, _facts(event))


def _facts(event: ev.Fired | ev.Healed) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {one_line(str(value))}" for name, value in event.facts.items())


def _ended_agent(event: ev.AgentEnded) -> str:
    return _joined("agent ended:", event.reason, f"(exit {event.exit_status})" if event.exit_status is not None else "")


_EVENTS: dict[type, Callable[[Any], str]] = {
    ev.Invoke: _invoke,
    ev.Completion: _completion,
    ev.Received: _received,
    ev.Handled: _handled,
    ev.Note: lambda e: f"note: {e.text}",
    ev.Garbled: lambda e: f"agent against the protocol: {e.reason}",
    ev.Opened: lambda e: f"connection {e.conn} opened to broker {e.broker}",
    ev.Closed: _closed,
    ev.Frame: _frame,
    ev.Undecodable: lambda e: f"undecodable bytes: {e.reason}",
    ev.Stored: _stored,
    ev.ReadBack: lambda e: f"{e.topic} holds {counted(len(e.entries), 'entry', 'entries')}",
    ev.Cursor: _cursor,
    ev.Began: lambda e: f"Case began, attempt {e.attempt}",
    ev.Stepped: lambda e: f"step {e.step} {'skipped: ' + e.skipped if e.skipped else 'issued'}",
    ev.Waited: lambda e: f"wait of step {e.step} {'met' if e.met else 'not met'}",
    ev.Fired: _fired,
    ev.Healed: lambda e: _joined(f"fault {e.fault} healed", _facts(e)),
    ev.Overdue: lambda e: f"{e.verb} not ended after {e.deadline_ms} ms · op {e.op}",
    ev.AgentEnded: _ended_agent,
    ev.ClockOffset: lambda e: f"agent clock offset {ms(e.offset_ns)} ± {ms(e.error_ns)}",
    ev.Load: lambda e: (
        f"load: loop lag {ms(e.loop_lag_ns)}, agent waited {ms(e.agent_wait_ns)}, broker {ms(e.broker_wait_ns)}"
    ),
    ev.Ended: lambda e: _joined(f"Case ended: {e.how.value}", e.text),
}


# --- faults ---------------------------------------------------------------------------------------------------------

_TOWARDS = {fl.Direction.TO_BROKER: "client to broker", fl.Direction.TO_CLIENT: "broker to client"}


def fault_words(fault: fl.Fault) -> str:
    """Return action, trigger and scope of a planned fault in words: `hold the 2nd RECEIPT, broker to client`."""
    return f"{_ACTIONS[type(fault.action)](fault.action)} {_trigger(fault.trigger)}{_scope(fault.scope)}"


_CUTS = {
    fl.CutHow.FIN: "close the connection",
    fl.CutHow.RST: "reset the connection",
    fl.CutHow.BLACKHOLE: "black-hole the connection",
}

_ACTIONS: dict[type, Callable[[Any], str]] = {
    fl.Drop: lambda _: "drop",
    fl.Hold: lambda _: "hold",
    fl.Delay: lambda a: f"delay by {a.delay_ms} ms",
    fl.Duplicate: lambda a: "duplicate" if a.copies == 1 else f"copy {a.copies} times",
    fl.Reorder: lambda a: f"move after the next {a.by}:",
    fl.Corrupt: lambda a: f"flip a bit of the {a.part.value} of",
    fl.Truncate: lambda a: f"cut the connection after {counted(a.keep_bytes, 'byte')} of",
    fl.Resegment: lambda a: f"send in pieces of {counted(a.piece_bytes, 'byte')} from",
    fl.Rewrite: lambda a: f"rewrite {', '.join(a.fields)} of",
    fl.Inject: lambda a: f"inject {a.command or counted(len(a.raw), 'raw byte')} {'before' if a.before else 'after'}",
    fl.Cut: lambda a: f"{_CUTS[a.how]} {'before' if a.before else 'at'}",
    fl.Refuse: lambda a: f"refuse {counted(a.connections, 'connection')} from" if a.connections else "refuse from",
    fl.AnswerError: lambda a: f"answer {a.error} to",
    out.Latency: lambda a: (
        f"bytes {a.latency_ms} ms late{f' +- {a.jitter_ms}' if a.jitter_ms else ''}{_stream(a)}, from"
    ),
    out.Bandwidth: lambda a: f"at most {a.rate_kb_s} kB/s{_stream(a)}, from",
    out.SlowClose: lambda a: f"ends {a.delay_ms} ms late{_stream(a)}, from",
    out.Timeout: lambda a: f"nothing passes{_stream(a)}, from",
    out.ResetPeer: lambda a: f"connections reset after {a.timeout_ms} ms{_stream(a)}, from",
    out.Slicer: lambda a: f"bytes in pieces of {a.average_bytes}{_stream(a)}, from",
    out.LimitData: lambda a: f"connections end after {counted(a.limit_bytes, 'byte')}{_stream(a)}, from",
    out.Disable: lambda _: "the network down, from",
    out.Kill: lambda a: f"kill {_target(a.target)} at",
    out.Pause: lambda a: f"pause {_target(a.target)} at",
    out.Stop: lambda a: f"stop {_target(a.target)} at",
    out.Disconnect: lambda a: f"{_target(a.target)} off its network from",
    out.FillDisk: lambda a: f"fill the disk of {_target(a.target)} at",
    out.ReadOnlyDisk: lambda a: f"the disk of {_target(a.target)} read-only from",
    out.Shape: lambda a: f"packets with {_shape(a)}{_stream(a)}, from",
    out.Partition: lambda a: f"no packets{_stream(a)}, from",
}


def _stream(action: Any) -> str:
    return "" if action.direction is None else f" {_TOWARDS[action.direction]}"


def _target(target: out.Target) -> str:
    if target.owner_of is not None:
        return f"the owner of {target.owner_of}"
    return f"{target.role.value} {target.index}"


def _shape(shape: out.Shape) -> str:
    values = [(name, getattr(shape, name)) for name in shape.__struct_fields__ if name != "direction"]
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in values if value) or "nothing changed"


def _trigger(trigger: fl.Trigger) -> str:
    if isinstance(trigger, fl.AtTime):
        return f"{trigger.at_ms} ms"
    if isinstance(trigger, fl.AfterStep):
        return f"step {trigger.step}"
    where = ", ".join(f"{name} = {value}" for name, value in trigger.where.items())
    which = f"the {_ordinal(trigger.k)} {trigger.command}{f' to {trigger.answers}' if trigger.answers else ''}"
    if trigger.times != 1:
        which += " and all after it" if trigger.times == 0 else f" and the next {trigger.times - 1}"
    return f"{which}{f' with {where}' if where else ''}, {_TOWARDS[trigger.direction]}"


def _scope(scope: fl.Scope) -> str:
    named = [(name, getattr(scope, name)) for name in scope.__struct_fields__]
    values = [f"{name.replace('_', ' ')} {value}" for name, value in named if value is not None]
    return f", on {', '.join(values)}" if values else ""


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def receipts(events: Iterable[ev.Event], case: Case) -> tuple[str, ...]:
    """Return one line for each firing of a fault: proof that it acted, when, and on which frames."""
    return tuple(
        f"{ms(event.t_ns)}: {event_words(event)} ({fault_words(case.faults[event.fault])})"
        for event in events
        if isinstance(event, ev.Fired) and event.fault < len(case.faults)
    )
