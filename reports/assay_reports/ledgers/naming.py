"""Names that are missing: rows speak of what a small table should have, and does not. Such rows would not be judged."""

from __future__ import annotations

from collections.abc import Iterable

from assay_conformance.ledger.collection import Small
from assay_conformance.model.errors import UsageError


def see_names(
    where: str, small: Small, *, streams: Iterable[int] = (), subs: Iterable[int] = (), consumers: Iterable[int] = ()
) -> None:
    """Raise UsageError when a small table lacks one of these rows, or a row that another small table refers to."""
    spoken_of = (
        ("topic", small.topics, {row.topic for row in small.streams.values()}),
        ("stream", small.streams, {*streams}),
        ("subscription", small.subscriptions, {*subs, *(row.sub for row in small.consumers.values())}),
        ("consumer", small.consumers, {*consumers}),
    )
    for table, known, numbers in spoken_of:
        if strange := numbers - known.keys():
            raise UsageError(
                f"{where}: the table {table} has no row {min(strange)}, of which other rows speak; a part of the table "
                "is missing, and nothing means anything without it"
            )
