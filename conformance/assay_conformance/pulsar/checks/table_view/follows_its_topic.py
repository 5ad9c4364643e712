from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion
from assay_conformance.pulsar.checks.table_view._due import is_due, judged_views
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.table_views import TableView, Value, Write, held


class _Key(NamedTuple):
    """A key of a view as it was read: its value, all messages until then, and how many of them a read before had."""

    view: TableView
    read: Completion
    key: str
    value: Value | None
    writes: list[Write]
    had: int


def _keys(timeline: Timeline) -> Iterator[_Key]:
    for view in judged_views(timeline):
        had: dict[str, int] = {}
        for read in view.reads:
            values = held(read)
            for key, all_writes in view.writes.items():
                writes = [one for one in all_writes if one.stored.seq < read.seq]
                yield _Key(view, read, key, values.get(key), writes, had.get(key, 0))
                known = [place for place, one in enumerate(writes, 1) if _has(one, values.get(key))]
                had[key] = min([place for place in known if place >= had.get(key, 0)], default=had.get(key, 0))


def _has(write: Write, value: Value | None) -> bool:
    """Return whether this is the value of a key that has it: of no bytes it is none."""
    return write.value == value if write.value[0] else value is None


@check("table-view.follows-its-topic", of=_keys)
def follows_its_topic(timeline: Timeline, one: _Key) -> Says:
    """table-view.follows-its-topic: an open table view takes over each message soon after it was stored, and no value
    of it goes back.

    Not judged are messages that were stored while something was in the way of its reader, or just after that.
    """
    view, read, key, value, writes, had = one
    call, since = timeline.call(read), max(0, had - 1)
    due = [place for place, write in enumerate(writes) if is_due(timeline, view, write, call)]
    late = [place for place in due if place > since]
    at_least = late[-1] if late else since
    if any(_has(write, value) for write in writes[at_least:]) or not writes:
        yield from (Exercised(read) for _ in late)
        return
    if late:
        newest = writes[at_least].stored
        timeline.bounds.check_fair("answer", newest.t_ns, call.t_ns, what="whether a message was taken over in time")
        yield breach(
            "stopped-following",
            f"entry {newest.id.name} with key {key!r} was stored at {ms(newest.t_ns)}; expected table view "
            f"{view.handle} to have it, or a later one, when it was read at {ms(call.t_ns)}; it has "
            f"{'nothing' if value is None else f'{value[0]} bytes with CRC-32 {value[1]:08x}'}",
            newest,
            read,
        )
    elif had:
        before = writes[had - 1].stored
        yield breach(
            "went-back",
            f"table view {view.handle} had the value of entry {before.id.name} for key {key!r}; expected that or a "
            f"later one at {ms(call.t_ns)}; it has an older one",
            before,
            read,
        )
