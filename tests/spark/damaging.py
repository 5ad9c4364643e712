"""Bytes of a ledger that change after they were written."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq

FLIPPED_BYTES = 4


def flip(part: Path, column: str, group: int = 0, keep_time: bool = False) -> None:
    """Change the last bytes of a column's rows in a row group. `keep_time`: the file looks as old as it was."""
    metadata = pq.read_metadata(part)
    chunk = metadata.row_group(group).column(metadata.schema.names.index(column))
    begin = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
    end = begin + chunk.total_compressed_size
    before, content = part.stat(), bytearray(part.read_bytes())
    for at in range(end - FLIPPED_BYTES, end):
        content[at] ^= 0xA5
    part.write_bytes(content)
    if keep_time:
        os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
