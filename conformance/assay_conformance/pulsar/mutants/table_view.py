"""Clients whose table views are not what their topic holds."""

from __future__ import annotations

from assay_conformance.client.handed import Inbound
from assay_conformance.client.table_view import TableView
from assay_conformance.client.values import Failed, Result


class ViewOpensBeforeItHasRead(TableView):
    """A table view is open as soon as it has subscribed."""

    breaks = "table-view.holds-what-was-stored"
    stands_for = "a view that begins to follow its topic, and calls that open"

    def _all_subscribed(self, result: Result) -> None:
        if isinstance(result, Failed):
            super()._all_subscribed(result)
        else:
            self._open()


class ViewKeepsRemovedKeys(TableView):
    """A message without bytes leaves the value that its key had."""

    breaks = "table-view.holds-what-was-stored"
    stands_for = "apache/pulsar#15330: a null value that removed nothing"

    def _remove(self, key: str) -> None:
        pass


class ViewStopsWhenItIsBack(TableView):
    """What comes behind a reconnect is not taken over."""

    breaks = "table-view.follows-its-topic"
    stands_for = "C++ client (read in its source): a read that failed is the last one, readTailMessage"

    def _take_over(self, inbound: Inbound) -> None:
        if not self._is_whole or inbound.session == 1:
            super()._take_over(inbound)


class ViewReportsOnlyNewKeys(TableView):
    """A listener of a table view is called for the first value of a key alone."""

    breaks = "table-view.reports-each-value"
    stands_for = "a listener for what was added, taken for one of all that changes"

    def _report(self, key: str, value: bytes) -> None:
        self._reported = getattr(self, "_reported", {})
        if self._reported.setdefault(key, value) is value or not value:
            super()._report(key, value)
