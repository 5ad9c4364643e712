"""How long messages took over the whole run, of a bounded share of its rows: some row groups of `attempt`, and of
`delivery` those that can hold their messages. No job of Spark: what is read is the same at any size.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from assay_conformance.ledger.spans import Spans, every, is_some, is_taken, span, width_us
from assay_conformance.ledger.tables import ATTEMPT, DELIVERY
from assay_conformance.ledger.words import BUCKET_BITS
from assay_reports.ledgers.opening import BadPart, Ledger, Part
from assay_reports.ledgers.parquet import open_parquet, read_footer
from assay_reports.spark.picking import may_hold, ranges
from assay_reports.spark.screen import bits

MOST_GROUPS = 128
"""Row groups of `attempt` that are read, evenly over the run."""


class _Group(NamedTuple):
    t_from: int
    part: str
    number: int
    rows: int


class _Sent(NamedTuple):
    """First attempts, sorted by `message`."""

    message: Any
    t: Any


def spans(ledger: Ledger, bad: Iterable[BadPart] = ()) -> Spans:
    """Return the latencies of stretches of the run, as `ledger.spans` does of rows in memory.

    Of a ledger with more than `MOST_GROUPS` row groups some are read, evenly over the run.
    """
    left_out = {part.file for part in bad}
    asked, given = (
        [one for one in ledger.parts[table.name] if one.file not in left_out] for table in (ATTEMPT, DELIVERY)
    )
    times = [t for part in asked for t in (part.t_from, part.t_to) if t is not None]
    if not times:
        return Spans()
    width = width_us(min(times), max(times))
    groups = _chosen([group for part in asked for group in _groups(ledger, part)])
    one_in = every(sum(group.rows for group in groups))
    sent = _sent(ledger, groups, one_in)
    begun, took = _took(sent, list(_given(ledger, given, sent, one_in)))
    return Spans(width, tuple(_spans(begun // width, took)))


def _groups(ledger: Ledger, part: Part) -> Iterator[_Group]:
    with ledger.files.open_input_file(f"{ledger.root}/{part.file}") as stream:
        metadata = read_footer(stream)
    place = metadata.schema.names.index("t")
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        statistics = group.column(place).statistics
        known = statistics is not None and statistics.has_min_max
        yield _Group(int(statistics.min) if known else 0, part.file, number, group.num_rows)


def _chosen(groups: Sequence[_Group]) -> list[_Group]:
    one_in = math.ceil(len(groups) / MOST_GROUPS)
    return [group for place, group in enumerate(sorted(groups)) if is_some(place, one_in)]


def _sent(ledger: Ledger, groups: Iterable[_Group], one_in: int) -> _Sent:
    by_part: dict[str, list[int]] = defaultdict(list)
    for group in groups:
        by_part[group.part].append(group.number)
    found: list[tuple[Any, ...]] = [_NOTHING[:2]]
    for part, numbers in sorted(by_part.items()):
        with ledger.files.open_input_file(f"{ledger.root}/{part}") as stream:
            file = open_parquet(stream)
            for number in numbers:
                columns, taken = _taken(file.read_row_group(number, columns=["stream", "seq", "t", "attempt"]), one_in)
                taken &= columns["attempt"] == 0
                found.append((_message(columns)[taken], columns["t"][taken]))
    message, t = (_joined(column) for column in zip(*found, strict=True))
    order = np.lexsort((t, message))
    return _Sent(message[order], t[order])


def _given(ledger: Ledger, parts: Iterable[Part], sent: _Sent, one_in: int) -> Iterator[tuple[Any, Any, Any]]:
    """(place in `sent`, subscription, time) of deliveries."""
    buckets = np.unique(sent.message >> BUCKET_BITS)
    wanted = ranges((int(bucket >> _SEQ_BITS - BUCKET_BITS), int(bucket & _BUCKETS)) for bucket in buckets)
    for part in parts:
        with ledger.files.open_input_file(f"{ledger.root}/{part.file}") as stream:
            file = open_parquet(stream)
            places = {name: place for place, name in enumerate(file.metadata.schema.names)}
            for number in range(file.metadata.num_row_groups):
                if may_hold(file.metadata.row_group(number), places, wanted):
                    content = file.read_row_group(number, columns=["sub", "stream", "seq", "t"])
                    columns, taken = _taken(content, one_in)
                    message = _message(columns)[taken]
                    place: Any = np.searchsorted(sent.message, message)
                    known = np.append(sent.message, -1)[place] == message
                    yield place[known], columns["sub"][taken][known], columns["t"][taken][known]


def _taken(content: Any, one_in: int) -> tuple[dict[str, Any], Any]:
    columns = {name: content.column(name).to_numpy().astype(np.int64) for name in content.column_names}
    return columns, is_taken(columns["stream"], columns["seq"], one_in)


def _took(sent: _Sent, given: Sequence[tuple[Any, Any, Any]]) -> tuple[Any, Any]:
    """When each was sent, and how long it took to the first delivery of each subscription."""
    place, sub, t = (_joined(column) for column in zip(_NOTHING, *given, strict=True))
    order = np.lexsort((t, sub, place))
    place, sub, t = place[order], sub[order], t[order]
    first: Any = np.ones(len(place), bool)
    first[1:] = (np.diff(place) != 0) | (np.diff(sub) != 0)
    begun = sent.t[place[first]]
    return begun, t[first] - begun


def _spans(number: Any, took: Any) -> Iterator[Any]:
    order = np.lexsort((took, number))
    numbers, first = np.unique(number[order], return_index=True)
    for one, ordered in zip(numbers, np.split(took[order], first[1:]), strict=False):
        yield span(int(one), ordered.tolist())


_SEQ_BITS = bits("seq")
_BUCKETS = (1 << _SEQ_BITS - BUCKET_BITS) - 1
_NOTHING: tuple[Any, ...] = (np.zeros(0, np.int64),) * 3


def _joined(pieces: Sequence[Any]) -> Any:
    return np.concatenate(pieces)


def _message(columns: dict[str, Any]) -> Any:
    """Stream and number as one."""
    return columns["stream"] << _SEQ_BITS | columns["seq"]
