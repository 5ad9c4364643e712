"""Drawing without Hypothesis's books: a Case does not need what its engine records to replay, shrink and print a draw.

Strategies draw for themselves, of the same random numbers in the same order, so the values are those that the engine
comes to, at a fifth of the time; a test compares them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.control import BuildContext
from hypothesis.errors import StopTest, UnsatisfiedAssumption
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import PrimitiveProvider
from hypothesis.strategies._internal.lazy import unwrap_strategies

T = TypeVar("T")

Numbers = Any
"""A `random.Random`, of which the rules have none of their own."""

_NOWHERE: Final[AbstractContextManager[Any]] = nullcontext({})
"""Where it is written which part of a value came from which draw."""


def values(
    strategy: st.SearchStrategy[T], count: int, random: Numbers, provider: type[PrimitiveProvider]
) -> list[T] | None:
    """Return so many values, as the engine draws them with this provider.

    None where it would have thrown one away.
    """
    known = _known(strategy)
    try:
        return [_value(_Unwritten(random, provider, known), strategy) for _ in range(count)]
    except (StopTest, UnsatisfiedAssumption):
        return None


def _value(data: ConjectureData, strategy: st.SearchStrategy[T]) -> T:
    with _Forgetful(data, wrapped_test=_no_operation):
        return data.draw(strategy)


class _Known(dict[st.SearchStrategy[Any], Any]):
    """Strategy -> what draws for it. Validating and unwrapping one takes longer than most draws do."""

    def __missing__(self, strategy: st.SearchStrategy[Any]) -> Any:
        strategy.validate()
        self[strategy] = draw = unwrap_strategies(strategy).do_draw  # type: ignore[no-untyped-call]
        return draw


@lru_cache(maxsize=32)
def _known(_strategy: st.SearchStrategy[Any]) -> _Known:
    """Return what draws for the parts of a strategy, kept for as long as it is asked for repeatedly."""
    return _Known()


class _Unwritten(ConjectureData):
    """Its length and depth are all that it knows of what was drawn."""

    def __init__(self, random: Numbers, provider: type[PrimitiveProvider], known: _Known) -> None:
        super().__init__(random=random, provider=provider)
        self._known = known

    def draw(self, strategy: st.SearchStrategy[T], label: int | None = None, observe_as: str | None = None) -> T:
        del label, observe_as
        return cast(T, self._known[strategy](self))

    def draw_integer(
        self, min_value: int | None = None, max_value: int | None = None, *, forced: int | None = None, **more: Any
    ) -> int:
        more.pop("observe", None)
        value = self.provider.draw_integer(min_value, max_value, **more) if forced is None else forced
        self._grow(2 + value.bit_length() // 8)
        return value

    def draw_boolean(self, p: float = 0.5, *, forced: bool | None = None, observe: bool = True) -> bool:
        del observe
        value = self.provider.draw_boolean(p) if forced is None else forced
        self._grow(1)
        return value

    def _grow(self, size: int) -> None:
        """Count the length as the engine does, and throw away what is too long."""
        self.length += size
        if self.length > self.max_length:
            self.mark_overrun()

    def start_span(self, label: int) -> None:
        del label
        self.depth += 1

    def stop_span(self, *, discard: bool = False) -> None:
        del discard
        self.depth -= 1

    def track_arg_label(self, label: str) -> AbstractContextManager[Any]:  # type: ignore[override]
        del label
        return _NOWHERE


class _Forgetful(BuildContext):
    """Of how a value was built it keeps nothing."""

    def record_call(self, *args: Any, **kwargs: Any) -> None:
        del args, kwargs


def _no_operation() -> None:
    """Do nothing: there is no test."""
