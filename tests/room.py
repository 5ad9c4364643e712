"""Room on the disk of temporary files, looked for before any test is run."""

from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir

import pytest

from assay_conformance.model.errors import UnavailableError
from assay_fixtures.beforehand import check_room


def see_room(needed_bytes: int, what: str) -> None:
    """End the session with 3 where there is too little: what fails for it later does not name the reason."""
    try:
        check_room(Path(gettempdir()), needed_bytes, what, "set TMPDIR to a folder on another disk")
    except UnavailableError as error:
        pytest.exit(str(error), error.exit_code)
