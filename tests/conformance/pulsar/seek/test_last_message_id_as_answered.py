"""The check of `seek.last-message-id-as-answered`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.history.script import CONSUMER, entry_id
from assay_conformance.model.event import MessageId
from assay_conformance.pulsar.checks.seek.last_message_id_as_answered import last_message_id_as_answered


def answered(id: MessageId, *, returned: MessageId) -> Consuming:
    """The broker answers `id`, and the call ends with `returned`."""
    story = Consuming()
    call = story.invoke("last_message_id", CONSUMER)
    story.up("GET_LAST_MESSAGE_ID", consumer_id=0, request_id=7)
    story.down("GET_LAST_MESSAGE_ID_RESPONSE", request_id=7, ids=(id,))
    story.complete(call, message_id=returned)
    return story


@pytest.mark.parametrize(
    ("id", "returned", "codes"),
    [
        (entry_id(3), entry_id(3), []),
        (entry_id(3, 1, 2), entry_id(3, 1, 2), []),
        (entry_id(3, 1), entry_id(3), []),
        (entry_id(3), entry_id(2), ["another-id"]),
        (entry_id(3, 1), entry_id(3, 0), ["another-id"]),
    ],
)
def test_id_of_the_answer_is_returned(id: MessageId, returned: MessageId, codes: list[str]) -> None:
    found, exercised = answered(id, returned=returned).judged(last_message_id_as_answered)
    assert (found, exercised) == (codes, 0 if codes else 1)


def test_answer_to_an_earlier_call_is_none_to_this_one() -> None:
    story = answered(entry_id(3), returned=entry_id(3))
    story.complete(story.invoke("last_message_id", CONSUMER), message_id=entry_id(3))
    assert story.judged(last_message_id_as_answered) == ([], 1)
