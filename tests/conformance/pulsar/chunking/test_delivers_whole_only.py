"""The check of `chunking.delivers-whole-only`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.chunking._chunked import CASE, CHUNKS, CLIENT, Story

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.chunking.delivers_whole_only import delivers_whole_only


def test_whole_message_is_delivered_once_complete() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.gets(2)
    assert story.judged(delivers_whole_only) == ([], 1)


def test_incomplete_message_is_kept_back() -> None:
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1)
    story.message(5, conn=9)
    story.received(5)
    assert story.judged(delivers_whole_only) == ([], 1)


@pytest.mark.parametrize("arriving", [[0], [0, 2], [1]])
def test_fragment_that_is_delivered_is_found(arriving: list[int]) -> None:
    story = Story()
    for entry, chunk in enumerate(arriving):
        story.arrives(chunk, entry)
    story.gets(len(arriving) - 1)
    assert story.judged(delivers_whole_only)[0] == ["fragment-delivered"]


def _asked_for_everything(chunks_before: int) -> Story:
    """The others come after that, for they were on their way."""
    story = Story()
    for chunk in range(CHUNKS):
        if chunk == chunks_before:
            story.redeliver_frame(conn=9)
        story.arrives(chunk, chunk)
    return story


def _come_back(chunks_before: int) -> Story:
    """A consumer that got some chunks, and those after them over another connection."""
    story = Story()
    for chunk in range(CHUNKS):
        if chunk == chunks_before:
            story.cut(9)
            story.connected(10)
            story.subscribed(10)
        story.arrives(chunk, chunk, conn=9 if chunk < chunks_before else 10)
    return story


@pytest.mark.parametrize("chunks_before", [1, 2])
def test_message_may_be_joined_of_chunks_held_from_the_connection_before(chunks_before: int) -> None:
    story = _come_back(chunks_before)
    story.gets(2)
    assert story.judged(delivers_whole_only)[0] == []


def test_fragment_that_is_delivered_over_another_connection_is_found() -> None:
    story = _come_back(1)
    story.gets(1)
    assert story.judged(delivers_whole_only)[0] == ["fragment-delivered"]


@pytest.mark.parametrize("chunks_before", [1, 2])
def test_message_may_be_joined_of_chunks_held_when_everything_is_asked_for_again(chunks_before: int) -> None:
    story = _asked_for_everything(chunks_before)
    story.gets(2)
    assert story.judged(delivers_whole_only)[0] == []


def test_fragment_that_is_delivered_when_everything_was_asked_for_again_is_found() -> None:
    story = _asked_for_everything(1)
    story.gets(1)
    assert story.judged(delivers_whole_only)[0] == ["fragment-delivered"]


def test_last_chunk_alone_when_everything_was_asked_for_again_is_found() -> None:
    story = _asked_for_everything(1)
    story.gets(2, size=800, digest=7)
    assert story.judged(delivers_whole_only)[0] == ["fragment-delivered"]


def test_message_joined_wrongly_is_found() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.gets(2, digest=1)
    assert story.judged(delivers_whole_only)[0] == ["wrong-content"]


def test_whole_message_that_is_withheld_is_found() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(delivers_whole_only)[0] == ["not-delivered"]


@pytest.mark.parametrize(("expiry_ms", "codes"), [(300, []), (1_000, ["not-delivered"])])
def test_message_of_which_the_last_chunk_comes_when_it_has_expired_may_be_withheld(
    expiry_ms: int, codes: list[str]
) -> None:
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1)
    story.after(500)
    story.arrives(2, 2)
    story.after(600)
    story.receive(asked=1, got=0)
    facts = msgspec.structs.replace(CLIENT, fixed={**CLIENT.fixed, "expire_incomplete_chunked_ms": expiry_ms})
    assert story.judged(delivers_whole_only, facts)[0] == codes


def test_whole_message_that_comes_again_after_its_ack_may_be_withheld() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.gets(2)
    story.ack(1)
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(delivers_whole_only) == ([], 1)


def test_message_sought_behind_is_not_withheld() -> None:
    story = Story()
    story.invoke("seek", CONSUMER, args={"message_id": [1, 2, -1, -1, 0]})
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.after(600)
    story.receive(1, 0)
    assert story.judged(delivers_whole_only)[0] == []


def test_message_withheld_on_a_busy_machine_is_undecided() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.after(600)
    story.receive(asked=1, got=0)
    story.load(600, agent_wait_ms=200)
    said = trial(delivers_whole_only, story.done(), CASE, CLIENT)
    assert (said.findings, bool(said.undecided_because)) == ([], True)


def test_consumer_may_drop_the_oldest_of_too_many() -> None:
    story = Story()
    for number in range(3):
        story.arrives(0, number, number)
    story.arrives(1, 3)
    story.arrives(2, 4)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(delivers_whole_only)[0] == []


def test_damaged_chunk_completes_nothing() -> None:
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1, intact=False)
    story.arrives(2, 2)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(delivers_whole_only)[0] == []
