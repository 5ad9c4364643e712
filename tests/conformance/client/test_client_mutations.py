"""Every mutant of the client still carries a plain exchange, and misses a bound by what it takes to be noticed."""

from __future__ import annotations

import pytest
from tests.conformance.client.peer import Peer

from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.client import Done
from assay_conformance.model.requirement import Side
from assay_conformance.pulsar.mutants import mutants

CLIENTS = [name for name, mutant in mutants().items() if mutant.side is Side.CLIENT]
TIMED = {name for name, mutant in mutants().items() if mutant.lateness_ms is not None}


@pytest.mark.parametrize("name", CLIENTS)
def test_mutant_carries_a_plain_exchange(name: str) -> None:
    peer = Peer(name)
    opened = [peer.open_producer(), peer.open_consumer()]
    sent = peer.send(b"a", b"b", b"c")
    peer.receipt(0)
    peer.receipt(1)
    peer.receipt(2)
    for entry, payload in enumerate((b"a", b"b", b"c")):
        peer.message(entry, payload)
    peer.receive(3)
    acked = peer.ack(1, 2, 3)
    peer.advance(1_000)
    assert all(isinstance(peer.results[op], Done) for op in [*opened, *sent, acked])
    assert [delivery.payload for delivery in peer.deliveries] == [b"a", b"b", b"c"]
    assert sorted(entry for entries in peer.acked() for entry in entries) == [0, 1, 2]


MISSES = {
    "ack-flush-late": "ack-flush",
    "nack-late": "nack-late",
    "nack-early": "nack-early",
    "ack-timeout-late": "ack-timeout",
    "batch-delay-late": "batch-delay",
    "send-timeout-late": "send-timeout",
    "pong-late": "answer",
}


@pytest.mark.parametrize("name", sorted(TIMED))
def test_timed_mutant_misses_its_bound_by_twice_what_is_tolerated(name: str) -> None:
    assert mutants()[name].lateness_ms == 2 * TOLERANCES[MISSES[name]].slack_ms
