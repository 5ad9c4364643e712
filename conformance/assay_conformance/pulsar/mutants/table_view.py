"""Clients whose table views are not what their topic holds."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.growth import Growth
from assay_conformance.client.handed import Inbound
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.table_view import TableView
from assay_conformance.client.values import Failed, Result


class ViewOpensBeforeItHasRead(TableView):
    """A table view opens as soon as it has subscribed, before it has read the topic."""

    breaks = "table-view.holds-what-was-stored"
    stands_for = "a view that is called open once it starts to read"

    def _all_subscribed(self, result: Result) -> None:
        if isinstance(result, Failed):
            super()._all_subscribed(result)
        else:
            self._open()


class ViewMissesAddedPartitions(TableView):
    """A table view reads the partitions that its topic had when it was opened, and no others."""

    breaks = "table-view.follows-its-topic"
    stands_for = "a sibling of apache/pulsar#15166: readers made once, for the partitions of that moment"

    def _widen(self, topic: str, partitions: range, answered: Callable[[bool], None]) -> None:
        answered(True)


class ViewKeepsRemovedKeys(TableView):
    """A message without a value does not remove its key from a table view."""

    breaks = "table-view.holds-what-was-stored"
    stands_for = "apache/pulsar#15330: a null value that removes nothing"

    def _remove(self, key: str) -> None:
        pass


class ViewStopsWhenItIsBack(TableView):
    """A table view ignores messages after a reconnect."""

    breaks = "table-view.follows-its-topic"
    stands_for = "C++ client (read in its source): after a failed read there is no other, readTailMessage"

    def _take_over(self, inbound: Inbound) -> None:
        if not self._is_whole or inbound.session == 1:
            super()._take_over(inbound)


class ViewReportsOnlyNewKeys(TableView):
    """A listener of a table view is called only for the first value of each key."""

    breaks = "table-view.reports-each-value"
    stands_for = "a listener for new keys taken for one of all changes"

    def _report(self, key: str, value: bytes) -> None:
        self._reported = getattr(self, "_reported", {})
        if self._reported.setdefault(key, value) is value or not value:
            super()._report(key, value)


class ViewReadsAgain(Growth):
    """Each update of the partitions of a table view opens readers of all of them, beside those that it has."""

    breaks = "table-view.one-reader-each"
    stands_for = "apache/pulsar#15166: an update does not ask which partitions are read already"

    def _counted(self, partitions: int | Refusal) -> None:
        view = getattr(getattr(self._widen, "func", None), "__self__", None)
        if isinstance(view, TableView) and isinstance(partitions, int) and not self._stopped:
            self._widen(range(partitions), lambda opened: self._widened(partitions, opened))
        else:
            super()._counted(partitions)
