"""The table of mutations: whole, and every cheat still able to carry a plain exchange."""

from __future__ import annotations

import pytest
from tests.conformance.client.peer import Peer

from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.client import MUTATIONS, Done, Mutation

TIMED = {name for name, broken in MUTATIONS.items() if broken.lateness_ms is not None}


def test_every_mutation_says_what_it_breaks() -> None:
    assert set(MUTATIONS) == set(Mutation)
    assert all(broken.row and broken.rule and broken.stands_for for broken in MUTATIONS.values())


@pytest.mark.parametrize("mutation", Mutation)
def test_mutant_carries_a_plain_exchange(mutation: Mutation) -> None:
    peer = Peer(mutation)
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
    Mutation.ACK_FLUSH_LATE: "ack-flush",
    Mutation.NACK_LATE: "nack-late",
    Mutation.NACK_EARLY: "nack-early",
    Mutation.ACK_TIMEOUT_LATE: "ack-timeout",
    Mutation.BATCH_DELAY_LATE: "batch-delay",
    Mutation.SEND_TIMEOUT_LATE: "send-timeout",
    Mutation.PONG_LATE: "answer",
}


@pytest.mark.parametrize("mutation", sorted(TIMED))
def test_timed_mutation_misses_its_bound_by_twice_what_is_tolerated(mutation: Mutation) -> None:
    assert MUTATIONS[mutation].lateness_ms == 2 * TOLERANCES[MISSES[mutation]].slack_ms
