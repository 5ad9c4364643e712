"""Drawing a plan: the same seed gives the same Cases, whatever else the process has imported.

Hypothesis mixes constants it finds in local modules into what it draws, so a decoy module would change the plan; our
provider draws none. The plan file is the record all the same: a seed alone is none across versions of Hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import msgspec
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from hypothesis.control import current_build_context
from hypothesis.errors import FailedHealthCheck, Unsatisfiable
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.stateful import run_state_machine_as_test

from assay_conformance.machines import drawing
from assay_conformance.machines.areas import Area, shares
from assay_conformance.machines.strategies import STEPS_OF_A_LIFE, Life, machine
from assay_conformance.model.case import Case

BACKEND = "assay"


class PlainProvider(HypothesisProvider):
    """Hypothesis's own choices, without constants harvested from the modules that happen to be loaded."""

    def _maybe_draw_constant(self, *args: Any, **kwargs: Any) -> None:
        del args, kwargs


AVAILABLE_PROVIDERS[BACKEND] = f"{__name__}.{PlainProvider.__name__}"


def _settings(count: int) -> settings:
    return settings(
        max_examples=count,
        stateful_step_count=STEPS_OF_A_LIFE,
        database=None,
        phases=[Phase.generate],
        backend=BACKEND,
        deadline=None,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )


def draw(strategy: st.SearchStrategy[Case], count: int, seed: int) -> list[Case]:
    """Return up to `count` different Cases of a strategy, numbered, the simplest first, which draws no number.

    There are none if the strategy has none, or throws away all that Hypothesis is ready to try.
    """
    try:
        return _numbered(_drawn(strategy, count, seed))
    except (Unsatisfiable, FailedHealthCheck):
        return []


def _drawn(strategy: st.SearchStrategy[Case], count: int, seed: int) -> list[Case]:
    first: list[Case] = []
    numbers: list[Any] = []

    @hypothesis.seed(seed)
    @_settings(1)
    @given(strategy)
    def begin(case: Case) -> None:
        first.append(case)
        numbers.append(current_build_context().data._random)

    begin()
    others = drawing.values(strategy, count - 1, numbers[0], PlainProvider)
    return by_engine(strategy, count, seed) if others is None else [*first, *others]


def by_engine(strategy: st.SearchStrategy[Case], count: int, seed: int) -> list[Case]:
    """Return the Cases that Hypothesis's engine draws; `draw` draws the same ones faster."""
    drawn: list[Case] = []

    @hypothesis.seed(seed)
    @_settings(count)
    @given(strategy)
    def collect(case: Case) -> None:
        drawn.append(case)

    collect()
    return drawn


def draw_lives(area: Area, count: int, seed: int) -> list[Case]:
    """Return up to `count` different Cases of the area's rule-based machines, numbered."""
    drawn: list[Case] = []
    parts = shares(area)
    seeded: Callable[[Life], Life] = hypothesis.seed(seed)
    for share in parts:
        run_state_machine_as_test(seeded(machine(share, drawn.append)), settings=_settings(max(1, count // len(parts))))
    return _numbered(drawn)


def _numbered(cases: list[Case]) -> list[Case]:
    unique = dict.fromkeys(msgspec.json.encode(case) for case in cases)
    kept = [msgspec.json.decode(text, type=Case) for text in unique]
    return [msgspec.structs.replace(case, id=f"{case.id}-{number:04}") for number, case in enumerate(kept)]
