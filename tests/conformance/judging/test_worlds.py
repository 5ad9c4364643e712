"""Possible worlds against a brute-force oracle that lists them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import scaled

from assay_conformance.judging.worlds import Contradiction, Kind, Sent, Standing, contradictions

_SENDS = st.lists(st.builds(Sent, st.sampled_from("abcd"), st.sampled_from(Standing)), max_size=6)
_DISTINCT = st.lists(st.sampled_from(Standing), max_size=6).map(
    lambda standings: [Sent(content, standing) for content, standing in zip("abcdef", standings, strict=False)]
)
_LOGS = st.text("abcd", max_size=7)
_MANY = settings(max_examples=scaled(500))
"""Small worlds are cheap: of these, more than of others."""


def _worlds(sends: Sequence[Sent]) -> list[str]:
    choices = [
        {Standing.CERTAIN: (True,), Standing.POSSIBLE: (True, False), Standing.IMPOSSIBLE: (False,)}[sent.standing]
        for sent in sends
    ]
    return [
        "".join(str(sent.content) for sent, happened in zip(sends, picks, strict=True) if happened)
        for picks in itertools.product(*choices)
    ]


def _produces(world: str, log: str, once: bool) -> bool:
    """A producer that sends `world` in order, and may repeat what it has sent unless `once`, can leave `log`."""
    if once:
        return world == log
    if not log:
        return not world
    ends = {0}
    for entry in log:
        ends = {place + 1 for place in ends if world[place : place + 1] == entry} | {
            place for place in ends if entry in world[:place]
        }
    return len(world) in ends


def _agree(sends: Sequence[Sent], log: str, once: bool) -> None:
    possible = any(_produces(world, log, once) for world in _worlds(sends))
    assert (contradictions(sends, log, once=once) == []) is possible


@given(_SENDS, _LOGS, st.booleans())
@_MANY
def test_verdict_is_that_of_the_oracle(sends: list[Sent], log: str, once: bool) -> None:
    _agree(sends, log, once)


@given(_DISTINCT, st.text("abcdef", max_size=8), st.booleans())
@_MANY
def test_verdict_is_that_of_the_oracle_where_contents_differ(sends: list[Sent], log: str, once: bool) -> None:
    _agree(sends, log, once)


@given(_SENDS, st.data(), st.booleans())
@_MANY
def test_what_a_world_produces_is_never_contradicted(sends: list[Sent], data: st.DataObject, once: bool) -> None:
    world = data.draw(st.sampled_from(_worlds(sends)))
    log = ""
    for place, content in enumerate(world):
        log += content + ("" if once else data.draw(st.text(world[: place + 1], max_size=2)))
    assert contradictions(sends, log, once=once) == []


def _kinds(sends: str, log: str, *, once: bool = False, unknown: str = "", failed: str = "") -> list[Kind]:
    standing = {**dict.fromkeys(unknown, Standing.POSSIBLE), **dict.fromkeys(failed, Standing.IMPOSSIBLE)}
    asked = [Sent(content, standing.get(content, Standing.CERTAIN)) for content in sends]
    return [found.kind for found in contradictions(asked, log, once=once)]


def test_acknowledged_message_must_be_there() -> None:
    assert _kinds("abc", "ac") == [Kind.LOST]


def test_unknown_message_may_be_there_or_not() -> None:
    assert _kinds("abc", "ac", unknown="b") == _kinds("abc", "abc", unknown="b") == []


def test_failed_message_must_not_be_there() -> None:
    assert _kinds("abc", "abc", failed="b") == [Kind.PHANTOM]


def test_message_nobody_sent_must_not_be_there() -> None:
    assert _kinds("ab", "axb") == [Kind.PHANTOM]


def test_copies_are_allowed_unless_each_is_stored_once() -> None:
    assert _kinds("abc", "ababc") == []
    assert _kinds("abc", "ababc", once=True) == [Kind.TWICE, Kind.TWICE]


def test_first_copies_keep_send_order() -> None:
    assert contradictions([Sent(c, Standing.CERTAIN) for c in "abc"], "acb", once=False) == [
        Contradiction(Kind.DISORDER, 1, (1, 2))
    ]


def test_order_is_judged_although_something_is_lost() -> None:
    assert _kinds("abcd", "adc") == [Kind.LOST, Kind.DISORDER]


def test_equal_contents_are_told_apart_by_what_is_certain() -> None:
    sends = [Sent("a", Standing.CERTAIN), Sent("b", Standing.CERTAIN), Sent("a", Standing.POSSIBLE)]
    assert [found.kind for found in contradictions(sends, "ba", once=False)] == [Kind.DISORDER]
    assert contradictions(sends, "ab", once=False) == []


def test_ten_thousand_unknown_sends_are_judged_within_a_second() -> None:
    distinct = [Sent(number, Standing.POSSIBLE) for number in range(10_000)]
    alike = [Sent(number % 2, Standing.POSSIBLE) for number in range(10_000)]
    began_s = process_time()  # CPU seconds: a busy machine is not a slow rule
    assert contradictions(distinct, range(0, 10_000, 2), once=True) == []
    assert contradictions(alike, [0, 1] * 5_000, once=False) == []
    assert process_time() - began_s < 1
