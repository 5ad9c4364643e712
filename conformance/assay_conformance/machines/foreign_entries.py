"""What a consumer may find in a topic that no producer of the life has sent: kinds of entries, for the broker to store.

They are those of directed Cases (`cases.stored`); here a life has any of them, wherever it comes to one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

from assay_conformance.cases.stored import (
    bad_batch,
    batch,
    compressed,
    empties,
    foreign_key,
    garbled,
    null_value,
    plain,
    plains,
)
from assay_conformance.pulsar.cases.compression import CODECS

APART = 10
"""Numbers that one find may take."""

DOUBTFUL_BYTES = 64 * 1024 * 1024 + 1
"""More than any message unpacks to, and no more memory than a client can take that believes it."""

Entries = list[dict[str, Any]]


class ForeignEntry(NamedTuple):
    """`make` numbers its messages from the one it is given. `needs`: what a client has to be able to do for it.
    `deadly`: clients have died of it, so it is for a process without another life."""

    make: Callable[[int], Entries]
    needs: str = ""
    deadly: bool = False


def _of_codec(codec: str) -> tuple[ForeignEntry, ...]:
    return (
        ForeignEntry(
            lambda number: [compressed(codec, plain(number)), compressed(codec, batch(range(number + 1, number + 4)))],
            "compression",
        ),
        _unreadable(lambda number: [garbled(codec, number)]),
        _unreadable(lambda number: [compressed(codec, plain(number), uncompressed_size=10)]),
        _unreadable(lambda number: [compressed(codec, plain(number), uncompressed_size=200)]),
    )


def _unreadable(make: Callable[[int], Entries]) -> ForeignEntry:
    return ForeignEntry(make, "compression", deadly=True)


FINDS: tuple[ForeignEntry, ...] = (
    ForeignEntry(lambda number: plains(range(number, number + 3))),
    ForeignEntry(lambda number: [batch(range(number, number + 3))]),
    ForeignEntry(lambda number: [batch([number]), plain(number + 1)]),
    ForeignEntry(lambda number: [null_value(number), foreign_key(number + 1), empties(number + 2)]),
    ForeignEntry(lambda number: [bad_batch(number)], deadly=True),
    _unreadable(lambda number: [compressed("LZ4", plain(number), uncompressed_size=DOUBTFUL_BYTES)]),
    *chain.from_iterable(map(_of_codec, CODECS)),
)
