"""Every number that rows speak of is a row of its small table."""

from __future__ import annotations

import pytest

from assay_conformance.ledger.collection import Small
from assay_conformance.ledger.rows import Consumer, Stream, Subscription, Topic
from assay_conformance.model.errors import UsageError
from assay_reports.ledgers.naming import see_names

SMALL = Small(
    streams={0: Stream(0, "p", 0)},
    topics={0: Topic(0, "t")},
    subscriptions={0: Subscription(0, "s", "Shared")},
    consumers={0: Consumer(0, 0, "c")},
)


def test_what_has_a_name_is_fine() -> None:
    see_names("ledger", SMALL, streams=[0], subs=[0], consumers=[0])


@pytest.mark.parametrize(
    ("small", "spoken_of", "sentence"),
    [
        (SMALL, {"streams": [0, 7, 8]}, "ledger: the table stream has no row 7, of which other rows speak"),
        (SMALL, {"subs": [3]}, "the table subscription has no row 3"),
        (SMALL, {"consumers": [5]}, "the table consumer has no row 5"),
        (SMALL._replace(topics={}), {}, "the table topic has no row 0"),
        (SMALL._replace(subscriptions={}), {}, "the table subscription has no row 0"),
    ],
)
def test_what_has_none_is_refused(small: Small, spoken_of: dict[str, list[int]], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        see_names("ledger", small, **spoken_of)
