"""What every test may rely on."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

# A property draws the same values on every machine, and a bounded number of them; at night ten times as many, and other
# ones each time. Hypothesis's database only remembers where to look first: what is found is written down as a test.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("nightly", max_examples=1_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure() -> None:
    """A background job of a shell, as CI often is, ignores Ctrl-C, and so would every process the tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
