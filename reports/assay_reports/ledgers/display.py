"""A ledger on the terminal, and as JSON: its run, its tables, its times."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table as RichTable

from assay_conformance.ledger.info import LedgerInfo
from assay_conformance.ledger.tables import PARTS, SMALL
from assay_reports.ledgers.opening import Ledger
from assay_reports.terminal import LEAN, Trimmed


class TableSummary(NamedTuple):
    """Times are µs of the run's clock, None where the table has none or no rows."""

    table: str
    rows: int
    parts: int
    bytes: int
    t_from: int | None
    t_to: int | None


def tables(ledger: Ledger) -> list[TableSummary]:
    found = []
    for table in PARTS:
        parts = ledger.parts[table.name]
        found.append(
            TableSummary(
                table.name,
                ledger.rows(table.name),
                len(parts),
                ledger.bytes(table.name),
                min((part.t_from for part in parts if part.t_from is not None), default=None),
                max((part.t_to for part in parts if part.t_to is not None), default=None),
            )
        )
    small = [TableSummary(table.name, len(ledger.small[table.name]), 1, 0, None, None) for table in SMALL]
    return found + small


def as_json(ledger: Ledger) -> str:
    document = {
        "ledger": ledger.where,
        "info": ledger.info,
        "tables": [one._asdict() for one in tables(ledger)],
        "bad": [one._asdict() for one in ledger.bad],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode()


def print_ledger(console: Console, ledger: Ledger) -> None:
    info = ledger.info
    ended = "" if info.ended_unix_ms is not None else ", not ended"
    console.print(f"{ledger.where}: run {info.run} of {info.client} {info.client_version}, {info.origin}{ended}")
    console.print(f"written by suite {info.suite}; broker {info.broker.name} {info.broker.version}{_versions(info)}")
    listed = RichTable(**LEAN)
    for name in ("table", "rows", "parts", "MB", "from s", "to s"):
        listed.add_column(name, justify="left" if name == "table" else "right")
    for one in tables(ledger):
        megabytes = f"{one.bytes / 1e6:,.1f}" if one.bytes else ""
        listed.add_row(one.table, f"{one.rows:,}", str(one.parts), megabytes, _seconds(one.t_from), _seconds(one.t_to))
    console.print(Trimmed(listed))


def _versions(info: LedgerInfo) -> str:
    return "".join(f"; {name}: {version}" for name, version in info.versions.items())


def _seconds(t: int | None) -> str:
    return "" if t is None else f"{t / 1e6:,.1f}"
