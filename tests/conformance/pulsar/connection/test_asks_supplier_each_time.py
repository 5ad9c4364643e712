"""The check of `connection.asks-supplier-each-time`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.connection._supplied import Supplied, case

from assay_conformance.pulsar.checks.connection.asks_supplier_each_time import asks_supplier_each_time

CHANGES = case("token:first,token:second")


@pytest.mark.parametrize(
    ("token", "codes"),
    [("second", []), ("first", ["old-credentials"]), ("foreign", ["other-credentials"]), (None, ["no-credentials"])],
    ids=str,
)
def test_second_connection_carries_what_the_supplier_gives_then(token: str | None, codes: list[str]) -> None:
    story = Supplied()
    story.invoke("open_client", 8)
    story.connects(0, "first")
    story.cut()
    story.connects(1, token)
    assert judged(asks_supplier_each_time, story, CHANGES) == (codes, 2)


def test_last_token_stays() -> None:
    story = Supplied()
    story.invoke("open_client", 8)
    story.connects(0, "second")
    story.connects(1, "second")
    assert judged(asks_supplier_each_time, story, CHANGES) == ([], 2)


def test_clients_that_share_the_list_are_not_judged() -> None:
    story = Supplied()
    story.invoke("open_client", 8)
    story.invoke("open_client", 9)
    story.connects(0, "first")
    story.connects(1, "first")
    assert judged(asks_supplier_each_time, story, CHANGES) == ([], 0)
