"""Reading Parquet: page checksums are verified wherever pages are read, by Arrow here and by Spark in `spark.session`.

Every reader of rows goes through this module, so none can leave the verification out. A footer has no checksum, nor
have page headers: the sizes in them are compared with each other and with the file before rows of a ledger are read
(`ledgers.pages`); and since a footer's statistics decide which row groups are skipped, `damage` compares them with the
rows.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from assay_reports.ledgers.pages import misfit, wrong_pages

UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What Arrow raises for bytes that are no Parquet, or no longer what was written."""


def open_parquet(source: Any, as_dictionary: Sequence[str] = ()) -> Any:
    """Return a ParquetFile of a path or an open file. Of text in the columns `as_dictionary` each value is held
    once."""
    return pq.ParquetFile(source, page_checksum_verification=True, read_dictionary=list(as_dictionary))


def read_footer(source: Any) -> Any:
    """Return the metadata of a file without any of its rows."""
    return pq.read_metadata(source)


def checked_footer(stream: Any) -> Any:
    """Return the metadata of a file of a ledger.

    Raises ArrowInvalid when it cannot be true of a file of that size.
    """
    metadata = pq.read_metadata(stream)
    if wrong := misfit(metadata, _size(stream)):
        raise pa.ArrowInvalid(wrong)
    return metadata


def check_sizes(stream: Any) -> None:
    """Raise ArrowInvalid when the sizes in a file's footer and in front of its pages do not agree."""
    metadata = checked_footer(stream)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            if wrong := wrong_pages(group.column(place), lambda at, length: _bytes(stream, at, length)):
                raise pa.ArrowInvalid(wrong)


def _size(stream: Any) -> int:
    return int(stream.seek(0, os.SEEK_END) if isinstance(stream, io.IOBase) else stream.size())


def _bytes(stream: Any, at: int, length: int) -> bytes:
    stream.seek(at)
    return bytes(stream.read(length))


def read_table(path: str, files: Any, schema: Any = None, where: Any = None, *, text_once: bool = False) -> Any:
    """Return the rows of a file of a ledger in the filesystem `files`, those `where` an expression holds; with
    `text_once`, text as dictionaries, which a few bytes may repeat in every row."""
    with files.open_input_file(path) as stream:
        check_sizes(stream)
        texts = [field.name for field in pq.read_schema(stream) if pa.types.is_string(field.type)] if text_once else []
    return pq.read_table(
        path, schema=schema, filters=where, filesystem=files, page_checksum_verification=True, read_dictionary=texts
    )


def batches(paths: Sequence[str], files: Any, schema: Any, columns: Sequence[str], where: Any) -> Iterator[Any]:
    """Yield some columns of many files of a ledger, batch by batch."""
    for path in paths:
        with files.open_input_file(path) as stream:
            check_sizes(stream)
    options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    format_ = ds.ParquetFileFormat(default_fragment_scan_options=options)
    rows = ds.dataset(list(paths), schema=schema, format=format_, filesystem=files)
    yield from rows.to_batches(columns=list(columns), filter=where)


def damage(source: Any) -> str:
    """Return what is wrong with a file, every page of which is read; "" where nothing is."""
    try:
        check_sizes(source)
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
    """Return Arrow's own words without the paths and hints that follow the first sentence."""
    text = str(getattr(error, "strerror", None) or error)
    return text.splitlines()[0].split(". Detail:")[0] if text else type(error).__name__
