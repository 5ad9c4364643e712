"""Reading Parquet: page checksums are verified wherever pages are read, by Arrow here and by Spark in `spark.session`.

Every reader of rows goes through this module (tests/packaging/test_parquet_readers.py), so none can leave the
verification out. A footer has no checksum; its statistics decide which row groups are skipped, so `damage` compares
them with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What Arrow raises for bytes that are no Parquet, or no longer what was written."""


def open_parquet(source: Any, as_dictionary: Sequence[str] = ()) -> Any:
    """A ParquetFile of a path or an open file. Of text in the columns `as_dictionary` each value is held once."""
    return pq.ParquetFile(source, page_checksum_verification=True, read_dictionary=list(as_dictionary))


def read_footer(source: Any) -> Any:
    """The metadata of a file without any of its rows."""
    return pq.read_metadata(source)


def read_table(path: str, files: Any, schema: Any = None, where: Any = None) -> Any:
    """The rows of a file in the filesystem `files`, those `where` an expression holds."""
    return pq.read_table(path, schema=schema, filters=where, filesystem=files, page_checksum_verification=True)


def batches(paths: Sequence[str], files: Any, schema: Any, columns: Sequence[str], where: Any) -> Iterator[Any]:
    """Some columns of many files, batch by batch."""
    options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    format_ = ds.ParquetFileFormat(default_fragment_scan_options=options)
    rows = ds.dataset(list(paths), schema=schema, format=format_, filesystem=files)
    yield from rows.to_batches(columns=list(columns), filter=where)


def damage(source: Any) -> str:
    """What is wrong with a file, every page of which is read; "" where nothing is."""
    try:
        file = open_parquet(source)
        for number in range(file.metadata.num_row_groups):
            content = file.read_row_group(number)
            if wrong := _wrong_statistics(file.metadata.row_group(number), content):
                return wrong
    except UNREADABLE as error:
        return said(error)
    return ""


def _wrong_statistics(group: Any, content: Any) -> str:
    if content.num_rows != group.num_rows:
        return f"a row group has {content.num_rows} rows, and the footer says {group.num_rows}"
    for place in range(group.num_columns):
        column = group.column(place)
        name, statistics = column.path_in_schema, column.statistics
        values = content.column(name) if name in content.column_names else None
        if values is None or not pa.types.is_integer(values.type) or statistics is None or not statistics.has_min_max:
            continue
        found = pc.min_max(values).as_py()
        if (found["min"], found["max"]) != (statistics.min, statistics.max):
            return (
                f"column {name} has values from {found['min']} to {found['max']}, and the footer says "
                f"{statistics.min} to {statistics.max}"
            )
    return ""


def said(error: Exception) -> str:
    """Arrow's own words, without the paths and hints behind the first sentence."""
    text = str(getattr(error, "strerror", None) or error)
    return text.splitlines()[0].split(". Detail:")[0] if text else type(error).__name__
