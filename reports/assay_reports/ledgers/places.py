"""Where a ledger lies: a folder of this machine, or under a URI that Arrow knows; and small files there, whoever wrote
them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from assay_conformance.model.doors import MOST_SHOWN, shortened
from assay_conformance.model.errors import UsageError
from assay_reports.bounds import MOST_FILE_BYTES
from assay_reports.files import read_bytes
from assay_reports.ledgers.parquet import said

_REFUSED: Final = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeEncodeError, ValueError)


def place(where: str) -> tuple[Any, str]:
    """Return a file system, and the folder's path in it. UsageError where Arrow knows none.

    Of this machine the path is absolute: another may look like a URI, as `profile:` does.
    """
    try:
        if "://" in where:
            return fs.FileSystem.from_uri(where)  # type: ignore[no-any-return]
        files, root = fs.LocalFileSystem(), str(Path(where).absolute())
        # What has no name in UTF-8, or a NUL in it, is refused here and not at its first file.
        files.get_file_info(root)
    except _REFUSED as error:
        why = shortened(said(error), MOST_SHOWN)  # a long path is in Arrow's own sentence, too
        raise UsageError(f"{where}: cannot be reached: {why}; expected the folder of a ledger") from error
    return files, root


def names(files: Any, folder: str) -> list[str]:
    """Return the names of everything in a folder. Raises OSError when there is none."""
    if isinstance(files, fs.LocalFileSystem):
        # Arrow passes over links that lead nowhere.
        return os.listdir(folder)
    return [info.base_name for info in files.get_file_info(fs.FileSelector(folder))]


def is_file(files: Any, path: str) -> bool:
    """Return whether a regular file is there: reading a FIFO would wait."""
    return bool(files.get_file_info(path).type is fs.FileType.File)


def small_file(files: Any, path: str, most: int = MOST_FILE_BYTES) -> bytes:
    """Return the content of a regular file of at most `most` bytes. Raises OSError for anything else."""
    if isinstance(files, fs.LocalFileSystem):
        try:
            return read_bytes(Path(path), "a file of a ledger", most)
        except UsageError as error:
            raise OSError(str(error).removeprefix(f"{path}: ")) from error
    size = files.get_file_info(path).size
    if size is not None and size > most:
        raise OSError(f"has {size} bytes; expected at most {most}")
    with files.open_input_stream(path) as stream:
        return bytes(stream.read(most))
