"""Rows as a ledger on disk, split into parts and files at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.spark.histories import Packed

from assay_conformance.ledger.info import LedgerInfo
from assay_conformance.ledger.tables import PARTS, Kind, Table
from assay_reports.ledgers.layout import NULL, PartWriter, create, write_smalls

_TYPES = {Kind.I8: np.int8, Kind.I16: np.int16, Kind.I32: np.int32, Kind.I64: np.int64}


def write(where: Path, packed: Packed, info: LedgerInfo, seed: int | None = None) -> Path:
    """A ledger of these rows. With a `seed` they are shuffled, and lie in several parts of several writers."""
    create(where, info)
    write_smalls(where, packed.small)
    chance = random.Random(seed)
    for table in PARTS:
        rows = list(packed.tables()[table.name])
        if seed is not None:
            chance.shuffle(rows)
        for writer, piece in enumerate(_split(rows, chance, 1 if seed is None else chance.randint(1, 4))):
            add(where, table, writer, piece)
    return where


def add(where: Path, table: Table, writer: int, rows: Sequence[tuple[Any, ...]]) -> None:
    """One more part."""
    parts = PartWriter(where, table, writer)
    parts.add(columns(table, rows))
    parts.close()


def columns(table: Table, rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    values = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    return {
        column.name: np.array(
            [NULL if value is None else value for value in of], np.int64 if column.nullable else _TYPES[column.kind]
        )
        for column, of in zip(table.columns, values, strict=True)
    }


def _split(rows: list[Any], chance: random.Random, pieces: int) -> list[list[Any]]:
    cuts = sorted(chance.randint(0, len(rows)) for _ in range(pieces - 1))
    return [rows[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
