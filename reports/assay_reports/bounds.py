"""Bounds of what this package reads and waits for, each with its unit and its reason."""

from __future__ import annotations

from typing import Final

MOST_COLUMN_BYTES: Final = 256 << 20
"""Of one column in one row group of a foreign Parquet file, uncompressed: usual writers stay far below, and a file of
some megabytes can unpack to any size."""

MOST_LINE_BYTES: Final = 1 << 20
"""Of a line of a log, or a row of a CSV: it is decoded as a whole, and takes up to a hundred times its length then."""

MOST_YEARS: Final = 10
"""No run is so long: a time this far from its beginning is of another unit than the map says, and so is a duration."""
