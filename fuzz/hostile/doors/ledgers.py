"""Ledgers and the logs that become ledgers: Parquet, JSON, CSV and the mapping."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import time as time_of_day
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final

from fuzz.hostile import places, values
from fuzz.hostile.attack import REFUSALS, VERDICT_CODES, Drawn, Order, Sandbox
from fuzz.hostile.corpus import Corpus

_TABLES: Final = ("attempt", "outcome", "delivery", "ack")
_LEAST_CHUNK_BYTES: Final = 96
"""A chunk of a column this large ends with 16 bytes of page data: after every header, before the footer."""
_FLIPPED_BYTES: Final = 16


def ledger(rng: Random, corpus: Corpus) -> Drawn:
    return rng.choices((_flipped, _described, _parts), (0.35, 0.4, 0.25))[0](rng, corpus)


def _flipped(rng: Random, corpus: Corpus) -> Drawn:
    """Flip sixteen bytes in one column's pages, which the checksum of the page has to show."""
    import pyarrow.parquet as parquet

    part = rng.choice([path for table in _TABLES for path in sorted((corpus.ledger / table).glob("*.parquet"))])
    group = parquet.read_metadata(part).row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    column = rng.choice([one for one in columns if one.total_compressed_size >= _LEAST_CHUNK_BYTES])
    start = column.dictionary_page_offset or column.data_page_offset
    end = start + column.total_compressed_size

    def lay(sandbox: Sandbox) -> Order:
        path = shutil.copytree(corpus.ledger, sandbox.work / "ledger") / part.relative_to(corpus.ledger)
        data = bytearray(path.read_bytes())
        for place in range(end - _FLIPPED_BYTES, end):
            data[place] ^= 0xFF
        path.write_bytes(data)
        return Order(("ledger", "audit", "--full", "ledger"), codes=frozenset({3}))

    return f"bytes flipped in {part.parent.name}.{column.path_in_schema}", lay


def _described(rng: Random, corpus: Corpus) -> Drawn:
    """Damage one thing in ledger.json."""
    damaged, kind = values.document(rng, (corpus.ledger / "ledger.json").read_bytes())
    place = rng.random() < 0.05
    # An audit ends with 4 where the ledger's writer computed wrong certificates: its own meaning of the code.
    words, codes = rng.choice(
        [(("ledger", "show", "ledger"), VERDICT_CODES), (("ledger", "audit", "ledger"), VERDICT_CODES | {4})]
    )

    def lay(sandbox: Sandbox) -> Order:
        path = shutil.copytree(corpus.ledger, sandbox.work / "ledger") / "ledger.json"
        path.write_bytes(damaged)
        if place:
            places.put(rng, path)
        return Order(words, codes=codes)

    return ("ledger.json: no regular file" if place else f"ledger.json: {kind}"), lay


def _parts(rng: Random, corpus: Corpus) -> Drawn:
    """Cut, replace or double a part, or let it be no file."""
    part = rng.choice(sorted(corpus.ledger.rglob("*.parquet")))
    damaged, kind = rng.choice(values.BYTES)(rng, part.read_bytes())
    place = rng.random() < 0.15

    def lay(sandbox: Sandbox) -> Order:
        path = shutil.copytree(corpus.ledger, sandbox.work / "ledger") / part.relative_to(corpus.ledger)
        path.write_bytes(damaged)
        if place:
            places.put(rng, path)
        return Order(("ledger", rng.choice(("audit", "show")), "ledger"), codes=VERDICT_CODES | {4})

    return ("a part that is no regular file" if place else f"a part: {kind}"), lay


# --- logs and their mapping -------------------------------------------------------------------------------------------


def mapping(rng: Random, corpus: Corpus) -> Drawn:
    return rng.choices((_map, _csv, _json_lines, _typed), (0.4, 0.15, 0.15, 0.3))[0](rng, corpus)


def _map(rng: Random, corpus: Corpus) -> Drawn:
    return _replaced(rng, corpus, "orders.toml", *values.toml(rng, (corpus.mapping / "orders.toml").read_bytes()))


def _csv(rng: Random, corpus: Corpus) -> Drawn:
    records = (corpus.mapping / "producers.csv").read_bytes().splitlines()
    place, name = rng.randrange(len(records)), rng.choice(list(values.SCALARS))
    cells = records[place].split(b",")
    cells[rng.randrange(len(cells))] = values.SCALARS[name].strip(b'"')
    records[place] = b",".join(cells)
    damaged, kind = b"\n".join(records) + b"\n", f"a cell is {name}"
    if rng.random() < 0.3:
        damaged, kind = rng.choice(values.BYTES)(rng, damaged)
    return _replaced(rng, corpus, "producers.csv", damaged, kind)


def _json_lines(rng: Random, corpus: Corpus) -> Drawn:
    damaged, kind = values.lines(rng, (corpus.mapping / "consumers.jsonl").read_bytes())
    return _replaced(rng, corpus, "consumers.jsonl", damaged, kind)


def _replaced(rng: Random, corpus: Corpus, name: str, data: bytes, kind: str) -> Drawn:
    place = rng.random() < 0.04

    def lay(sandbox: Sandbox) -> Order:
        path = shutil.copytree(corpus.mapping, sandbox.work / "logs") / name
        path.write_bytes(data)
        if place:
            places.put(rng, path)
        return Order(("ledger", "map", "logs/orders.toml", "out"))

    return (f"{name}: no regular file" if place else f"{name}: {kind}"), lay


def _typed(rng: Random, corpus: Corpus) -> Drawn:
    """Draw logs as Parquet with one column of a type that other tools write."""
    import pyarrow as arrow

    at_ns = 1_780_300_800_007_123_456
    columns: dict[str, Callable[[int], Any]] = {
        "timestamp[ns] with real nanoseconds": lambda n: arrow.array(range(at_ns, at_ns + n), arrow.timestamp("ns")),
        "timestamp[ns, zone]": lambda n: arrow.array(range(at_ns, at_ns + n), arrow.timestamp("ns", "Europe/Berlin")),
        # Parquet has no seconds: written in milliseconds.
        "timestamp[s] out of range": lambda n: arrow.array([2**53] * n, arrow.timestamp("s")),
        "time64": lambda n: arrow.array([time_of_day(8, 0)] * n, arrow.time64("us")),
        "duration": lambda n: arrow.array([5] * n, arrow.duration("ns")),
        "date32 out of range": lambda n: arrow.array([2**30] * n, arrow.int32()).cast(arrow.date32()),
        "infinite floats": lambda n: arrow.array([float("inf")] * n),
        "decimals": lambda n: arrow.array([Decimal("1.5")] * n),
        "nulls": arrow.nulls,
        "lists": lambda n: arrow.array([[1, 2]] * n),
        "uint64 beyond 2^63": lambda n: arrow.array([2**64 - 1] * n, arrow.uint64()),
        "bytes that are no UTF-8": lambda n: arrow.array([b"\xff\xfe"] * n, arrow.binary()),
        "text that is no UTF-8": _bad_text,
        "half floats": lambda n: arrow.array([1.5] * n).cast(arrow.float16()),
    }
    kind = rng.choice(list(columns))
    name = rng.choice(("sent_at", "sent_at", "told_at", "number", "producer", "result", "message_id", "crc32"))
    kind_of_column = f"Parquet: {name} of {kind}"

    def lay(sandbox: Sandbox) -> Order:
        logs = shutil.copytree(corpus.mapping, sandbox.work / "logs")
        _as_parquet(logs, name, columns[kind])
        text = (logs / "orders.toml").read_text().replace("producers.csv", "producers.parquet", 1)
        (logs / "orders.toml").write_text(text)
        accepted = kind.startswith("timestamp[ns") and name in ("sent_at", "told_at")
        codes = frozenset({0}) if accepted else frozenset({0}) | REFUSALS
        return Order(("ledger", "map", "logs/orders.toml", "out"), codes=codes)

    return kind_of_column, lay


def _bad_text(count: int) -> Any:
    """Return strings that claim to be UTF-8 and are not, as a writer in C leaves them."""
    import pyarrow as arrow

    raw = arrow.array([b"\xff\xfe("] * count, arrow.binary())
    return arrow.Array.from_buffers(arrow.string(), count, raw.buffers())


def _as_parquet(logs: Path, name: str, column: Callable[[int], Any]) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.csv.read_csv(logs / "producers.csv")
    place = table.schema.get_field_index(name)
    table = table.set_column(place, name, column(table.num_rows))
    pyarrow.parquet.write_table(table, logs / "producers.parquet", store_schema=False)
