"""What went through a front, as numbers that only grow."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, Self


class Measure:
    """A dataclass of numbers, all of them counted from one beginning."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def since(self, then: Self) -> Self:
        """Return what was counted after `then`."""
        return type(self)(**{each.name: getattr(self, each.name) - getattr(then, each.name) for each in fields(self)})
