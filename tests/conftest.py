"""What every test may rely on."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A background job of a shell, as CI often is, ignores Ctrl-C, and so would every process the tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
