"""The parts of the broker that are values: cursor, store, dedup, timers, ack sets."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.broker.bench import Bench

from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.dedup import Copy, Deduplication
from assay_conformance.broker.host import Host
from assay_conformance.broker.replies import ack_bits, ack_words
from assay_conformance.broker.store import Store
from assay_conformance.broker.timers import Timers
from assay_conformance.model.case import Topology
from assay_conformance.model.overrides import HONEST
from assay_conformance.wire import CommandType, Payload

MEMBERS = 5
ENTRIES = 8


def _payload() -> Payload:
    return Payload(memoryview(b"\0\0\0\0"), CommandType.SEND)


def _store(*ledgers: int) -> Store:
    """Ledgers 10, 20, ... with so many entries each."""
    store = Store(itertools.count().__next__)
    for number, count in enumerate(ledgers, 1):
        store.open_ledger(number * 10)
        for _ in range(count):
            store.add(_payload())
    return store


def test_entry_behind_a_full_ledger_begins_the_next() -> None:
    store = Store(itertools.count(1).__next__, ledger_entries=2)
    store.open_ledger(0)
    entries = [store.add(_payload()) for _ in range(5)]
    assert [(entry.ledger, entry.entry) for entry in entries] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]


Operation = tuple[str, int, int]
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["ack", "members", "up_to"]),
        st.integers(0, ENTRIES - 1),
        st.integers(0, 2**MEMBERS - 1),
    )
)


@given(OPERATIONS)
def test_cursor_equals_a_set_of_acked_members(operations: list[Operation]) -> None:
    cursor = Cursor(0)
    unacked = {(index, member) for index in range(ENTRIES) for member in range(MEMBERS)}
    for kind, index, bits in operations:
        if kind == "ack":
            cursor.ack(index)
            unacked -= {(index, member) for member in range(MEMBERS)}
        elif kind == "members":
            cursor.ack_members(index, bits)
            unacked -= {(index, member) for member in range(MEMBERS) if not bits >> member & 1}
        else:
            cursor.ack_up_to(index)
            unacked = {(kept, member) for kept, member in unacked if kept > index}
    left = {index for index, _ in unacked}
    assert {index for index in range(ENTRIES) if not cursor.is_acked(index)} == left
    assert cursor.backlog(ENTRIES) == len(left)
    assert not cursor.is_acked(cursor.mark)
    for index in left:
        bits = cursor.partial.get(index, 2**MEMBERS - 1)
        assert {member for member in range(MEMBERS) if bits >> member & 1} == {m for i, m in unacked if i == index}


@given(OPERATIONS, st.integers(1, 4))
def test_cursor_reads_every_unacked_entry_once_in_order(operations: list[Operation], count: int) -> None:
    entries = _store(ENTRIES).entries
    cursor = Cursor(0)
    for kind, index, _ in operations:
        (cursor.ack_up_to if kind == "up_to" else cursor.ack)(index)
    seen: list[int] = []
    while batch := cursor.read(entries, count):
        seen += [entry.index for entry in batch]
    assert seen == [index for index in range(ENTRIES) if not cursor.is_acked(index)]


def test_rewind_reads_again_from_the_first_unacked() -> None:
    entries = _store(4).entries
    cursor = Cursor(0)
    cursor.read(entries, 4)
    cursor.ack(0)
    cursor.ack(2)
    cursor.rewind()
    assert [entry.index for entry in cursor.read(entries, 4)] == [1, 3]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_store_finds_every_entry_by_its_position(ledgers: list[int]) -> None:
    store = _store(*ledgers)
    assert [store.find(entry.ledger, entry.entry) for entry in store.entries] == list(range(len(store.entries)))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(0, 50), st.integers(-1, 5))
def test_next_index_is_the_first_entry_behind_a_position(ledgers: list[int], ledger: int, entry: int) -> None:
    store = _store(*ledgers)
    behind = [found.index for found in store.entries if (found.ledger, found.entry) > (ledger, entry)]
    assert store.next_index(ledger, entry) == (behind[0] if behind else len(store.entries))


def test_mark_delete_in_front_of_everything_names_the_first_ledger() -> None:
    store = _store(2, 1)
    assert [store.mark_delete(index) for index in range(4)] == [(10, -1), (10, 0), (10, 1), (20, 0)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.booleans())))
def test_deduplication_never_takes_an_id_twice(sends: list[tuple[int, int, bool]]) -> None:
    dedup = Deduplication(Host(Bench(), HONEST, 0, 0, Topology()), [])
    taken: list[range] = []
    written = -1
    for lowest, more, writes in sends:
        highest = lowest + more
        copy = dedup.push("p", lowest, highest)
        if copy is Copy.NEW:
            assert all(lowest > before.stop - 1 for before in taken)
            taken.append(range(lowest, highest + 1))
            if writes:
                dedup.persist("p", highest, 0)
                written = highest
        else:
            assert (copy is Copy.DUPLICATE) == (lowest <= written)


@given(st.integers(0, 2**200 - 1))
def test_ack_sets_survive_the_wire(bits: int) -> None:
    words = ack_words(bits)
    assert ack_bits(words) == bits
    assert all(-(2**63) <= word < 2**63 for word in words)


def test_timers_of_one_instant_run_in_the_order_they_were_set() -> None:
    timers = Timers()
    ran: list[str] = []
    timers.at(5, lambda: ran.append("late"))
    timers.at(1, lambda: ran.append("a"))
    timers.at(1, lambda: ran.append("b"))
    timers.run(4)
    assert (ran, timers.next_ns()) == (["a", "b"], 5)


def test_cancelled_timer_is_no_deadline() -> None:
    timers = Timers()
    timers.at(1, lambda: None).cancel()
    assert timers.next_ns() is None
