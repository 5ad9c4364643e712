"""What every test may rely on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings
from tests.drawn import drawn_items
from tests.left_out import LeftOut
from tests.profiles import EXAMPLES, NIGHTLY, PROFILE
from tests.room import see_room

from assay_fixtures import certification, packs
from assay_fixtures.packs import Pack
from assay_fixtures.runner.judges import Here

# A property draws the same values on every machine, and a bounded number of them; at night ten times as many, and other
# ones each time. Hypothesis's database only remembers where to look first: what is found is written down as a test.
settings.register_profile(
    "ci", max_examples=EXAMPLES["ci"], derandomize=True, deadline=None, database=None, print_blob=True
)
settings.register_profile("nightly", max_examples=EXAMPLES["nightly"], deadline=None, print_blob=True)
if PROFILE in EXAMPLES:
    settings.load_profile(PROFILE)


NIGHT = "ASSAY_NIGHT"
"""What is not Hypothesis's own choice is drawn of this number at night; who sets it has that night again."""

FRESH = "ASSAY_FRESH"
"""A few lives of every run are drawn of this number, another one each time; who sets it has those lives again."""

NUMBERS = (FRESH, *((NIGHT,) if NIGHTLY else ()))


def pytest_configure(config: pytest.Config) -> None:
    if PROFILE not in EXAMPLES:
        raise pytest.UsageError(f"HYPOTHESIS_PROFILE is {PROFILE!r}, expected {' or '.join(EXAMPLES)}")
    # A background job of a shell, as CI often is, ignores these, and so would every process the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftOut())
        # Workers of xdist are started later, with the environment as it is then.
        for name in NUMBERS:
            os.environ.setdefault(name, str(int.from_bytes(os.urandom(4))))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out some of what takes long, other tests in each run; not a test that is named."""
    if not any("::" in named for named in config.args):
        kept = drawn_items(items)
        there = set(map(id, kept))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in there])
        items[:] = kept


ROOM_BYTES = 512 << 20
"""For what tests write at once, on the disk of temporary files; it goes with each test that passes."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Told at once, and not in the header, which `-q` leaves out."""
    see_room(ROOM_BYTES, "a session of tests")
    if terminal := session.config.pluginmanager.get_plugin("terminalreporter"):
        terminal.write_line(" ".join(f"{name}={os.environ[name]}" for name in (FRESH, NIGHT) if name in os.environ))


@pytest.fixture
def in_place_of_our_pack() -> Iterator[Callable[[Pack], None]]:
    """A pack that is all there is, until the test is over.

    It goes in below `load_packs`, which is never replaced itself: a module that is imported in the meantime would keep
    the replacement for good. Other processes know nothing of it, so the histories are judged in this one.
    """

    def put(pack: Pack) -> None:
        patched.setattr(packs, "own_pack", lambda: pack)
        patched.setattr(packs, "entry_points", lambda **_group: ())
        patched.setattr(certification, "Elsewhere", lambda _run, facts: Here(facts, pack))
        packs.load_packs.cache_clear()

    with pytest.MonkeyPatch.context() as patched:
        yield put
    packs.load_packs.cache_clear()
