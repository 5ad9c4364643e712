from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion
from assay_conformance.pulsar.checks.table_view._due import judged_views
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.table_views import TableView, Value, Write, held


class _Key(NamedTuple):
    """A key of a view as it was first read: its value there, and the messages that may have been the newest then."""

    view: TableView
    read: Completion
    key: str
    value: Value | None
    newest: list[Write]


def _keys(timeline: Timeline) -> Iterator[_Key]:
    for view in judged_views(timeline):
        for read in view.reads[:1]:
            values = held(read)
            for key in {**view.writes, **values}:
                writes = [one for one in view.writes.get(key, ()) if one.stored.seq < read.seq]
                before = [one for one in writes if one.stored.seq < view.invoke.seq]
                yield _Key(view, read, key, values.get(key), writes[max(0, len(before) - 1) :])


@check("table-view.holds-what-was-stored", of=_keys)
def holds_what_was_stored(timeline: Timeline, one: _Key) -> Says:
    """table-view.holds-what-was-stored: when it has opened, a table view has the newest value of each key that was
    stored before it was opened, or a later one."""
    view, read, key, value, newest = one
    was_there = bool(newest) and newest[0].stored.seq < view.invoke.seq
    may_have = {write.value for write in newest if write.value[0]}
    may_lack = not was_there or any(not write.value[0] for write in newest)
    if value in may_have if value is not None else may_lack:
        if was_there:
            yield Exercised(read)
        return
    has = "nothing" if value is None else f"{value[0]} bytes with CRC-32 {value[1]:08x}"
    due = f"the value of entry {newest[0].stored.id.name}" if newest and newest[0].value[0] else "nothing"
    yield breach(
        "missing" if value is None else "another-value",
        f"table view {view.handle} was opened at {ms(view.invoke.t_ns)} and read at {ms(read.t_ns)}; expected {due}, "
        f"or what came later, for key {key!r}; it has {has}",
        *(write.stored for write in newest[:1]),
        view.opened,
        read,
    )
