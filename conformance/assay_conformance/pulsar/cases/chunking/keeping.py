"""Cases for chunks that are kept and dropped: interleaved, acknowledged, too many, restarted, with a gap, expired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay_conformance.cases.build import ACKS_FLUSHED_MS, STARVED_MS, Schedule
from assay_conformance.cases.stored import chunks, plain
from assay_conformance.model.case import Case, ConfigValue
from assay_conformance.model.fault import AfterStep, Cut, Fault

RECEIVE_MS = STARVED_MS
"""How long a receive waits for a message that has been stored."""

NOTHING_MS = 300
"""How long a receive waits for a message that must not arrive."""


def _kept(
    words: str,
    title: str,
    requirement: str,
    entries: Sequence[dict[str, Any]],
    delivered: int,
    *,
    ack: Sequence[int] = (),
    cumulative: bool = False,
    wait_ms: int = ACKS_FLUSHED_MS,
    capabilities: tuple[str, ...] = (),
    **consumer: ConfigValue,
) -> Case:
    """Store entries, receive this many messages, and then none; acknowledge some."""
    plan, reader = Schedule.with_consumer(stored=list(entries))
    plan.receive(reader, delivered, RECEIVE_MS)
    plan.receive(reader, 1, NOTHING_MS)
    plan.wait_ops()
    if ack:
        plan.wait_ops(plan.ack(reader, messages=ack, cumulative=cumulative))
    plan.wait_ms(wait_ms)
    return plan.case(
        f"chunking/{words}",
        title,
        (requirement,),
        capabilities=capabilities,
        consumer={"initial_position": "earliest", "ack_group_ms": 100, **consumer},
    )


def _expires_behind_a_loss() -> Case:
    """Lose the connection while a message is incomplete; its chunks come again, and the last one never does."""
    plan, reader = Schedule.with_consumer(stored=[*chunks(0, 3)[:2], plain(1)])
    plan.wait_ops(plan.receive(reader, 1, RECEIVE_MS))
    lost = plan.last
    plan.wait_ops(plan.receive(reader, 1, RECEIVE_MS))
    plan.wait_ops(plan.ack(reader))
    plan.wait_ms(1_200)
    return plan.case(
        "chunking/incomplete-expires-behind-a-loss",
        "Two of three chunks come again on a new connection, and the last one never arrives",
        ("chunking.expires-incomplete",),
        capabilities=("chunk_expiry",),
        consumer={"initial_position": "earliest", "ack_group_ms": 100, "expire_incomplete_chunked_ms": 300},
        faults=(Fault(trigger=AfterStep(lost), action=Cut()),),
    )


def _by_turns() -> list[dict[str, Any]]:
    one, two, three = chunks(0, 3), chunks(1, 3), chunks(2, 3)
    return [one[0], two[0], one[1], three[0], two[1], three[1], one[2], three[2], two[2]]


def _one_too_many() -> list[dict[str, Any]]:
    oldest, second, third = chunks(0, 3), chunks(1, 3), chunks(2, 3)
    return [oldest[0], second[0], third[0], *third[1:], *second[1:], *oldest[1:], plain(3)]


def _sent_again() -> list[dict[str, Any]]:
    """Return the entries of a producer that lost its connection in between and sent everything again."""
    message = chunks(0, 3)
    return [*message[:2], *message, plain(1)]


def _gaps() -> list[dict[str, Any]]:
    without_middle, without_first = chunks(0, 3), chunks(1, 3)
    return [without_middle[0], without_middle[2], *without_first[1:], *chunks(2, 3)]


def _behind_a_dropped_one() -> list[dict[str, Any]]:
    """Return two messages whose chunks alternate, behind one that is dropped for its gap."""
    dropped, one, two = chunks(0, 3), chunks(1, 3), chunks(2, 3)
    return [dropped[0], dropped[2], one[0], two[0], *one[1:], *two[1:]]


CASES = (
    _kept(
        "dropped-message-frees-its-place",
        "A consumer that keeps two incomplete messages drops one for its gap, and then gets two whose chunks alternate",
        "chunking.assembles-by-uuid",
        _behind_a_dropped_one(),
        2,
        max_pending_chunked_messages=2,
        auto_ack_oldest_chunked=True,
    ),
    _kept(
        "three-messages-interleaved",
        "The chunks of three messages are interleaved, and the messages end in another order than they begin in",
        "chunking.assembles-by-uuid",
        _by_turns(),
        3,
    ),
    _kept(
        "chunked-message-acked",
        "A message of three chunks is acknowledged",
        "chunking.acks-every-chunk",
        [*chunks(0, 3), plain(1)],
        2,
        ack=(1,),
    ),
    _kept(
        "chunked-message-acked-cumulatively",
        "A message of three chunks is acknowledged cumulatively",
        "chunking.acks-every-chunk",
        [plain(0), *chunks(1, 3), plain(2)],
        3,
        ack=(2,),
        cumulative=True,
        capabilities=("cumulative_ack",),
    ),
    _kept(
        "too-many-incomplete-messages",
        "A third incomplete message arrives at a consumer that keeps two, and drops the oldest without an "
        "acknowledgment",
        "chunking.incomplete-messages-bounded",
        _one_too_many(),
        3,
        max_pending_chunked_messages=2,
    ),
    _kept(
        "too-many-incomplete-messages-acked",
        "A third incomplete message arrives at a consumer that keeps two, and acknowledges the oldest as it drops it",
        "chunking.incomplete-messages-bounded",
        _one_too_many(),
        3,
        max_pending_chunked_messages=2,
        auto_ack_oldest_chunked=True,
    ),
    _kept(
        "all-chunks-sent-again",
        "Two of three chunks, then all three again in entries of their own",
        "chunking.restarts-at-first-chunk",
        _sent_again(),
        2,
    ),
    _kept(
        "chunks-missing",
        "A message without its middle chunk, one without its first, and a complete one",
        "chunking.missing-chunk-discards-message",
        _gaps(),
        1,
    ),
    _kept(
        "incomplete-expires",
        "Two of three chunks, and the last one never arrives",
        "chunking.expires-incomplete",
        [*chunks(0, 3)[:2], plain(1)],
        1,
        wait_ms=700,
        capabilities=("chunk_expiry",),
        expire_incomplete_chunked_ms=300,
    ),
    _expires_behind_a_loss(),
)
