"""How checks query the timeline: one function for each requirement, called when the history is complete.

    @check("resend.identical-bytes", of=lambda timeline: timeline.resent)
    def identical_bytes(timeline: Timeline, resent: Resent) -> Iterator[Judged]:
        \"\"\"resend.identical-bytes: a unit that leaves again on a new session is the same bytes ...\"\"\"
        yield from agreement(resent.frame, ...)

It is called for each subject `of` yields, or without `of` once, with the timeline alone; it yields what it says of a
subject (`judging.certainty`). `check` makes a class of it, as the judge, the registry, packs and `trial` know checks:
class checks and function checks are judged side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from assay_conformance.checks.base import MAX_EXAMPLES, Check, View
from assay_conformance.judging.certainty import Breach, Counted, Exercised, Judged, NotJudged, each
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.timeline.timeline import Timeline


class TimelineCheck(Check):
    """A check that is a function over the timeline, which the judge hands it before `finish`."""

    asks: ClassVar[Callable[..., Iterator[Judged]]]
    subjects: ClassVar[Callable[[Timeline], Iterable[Any]] | None]
    keeps_away: ClassVar[Callable[[Timeline], Iterator[Judged]] | None]
    judges: ClassVar[Callable[[View], bool] | None]
    timeline: Timeline

    def concerned(self) -> bool:
        return self._is_for_such_cases()

    def _is_for_such_cases(self) -> bool:
        """Return whether it judges Cases and clients like these."""
        judges = type(self).judges
        return judges is None or judges(self.view)

    def finish(self) -> None:
        """Collect what the function yields."""
        if not self._is_for_such_cases():
            return
        cls, timeline = type(self), self.timeline
        if cls.subjects is None:
            said = each([timeline], lambda whole: cls.asks(whole))
        else:
            said = each(cls.subjects(timeline), cls.asks, timeline)
        for judged in said:
            self._say(judged)
        if (keeps_away := cls.keeps_away) is not None and self._is_unreached():
            for judged in each([timeline], keeps_away):
                self._say(judged)

    def _is_unreached(self) -> bool:
        """Return whether the Case was made for this requirement, and nothing was to be judged."""
        said = self.exercised or self.findings or self.not_judged or self.undecided_because
        return not said and self.requirement in self.view.case.requirements

    def _say(self, judged: Judged) -> None:
        if isinstance(judged, Exercised):
            self.exercise(judged.event)
        elif isinstance(judged, Counted):
            self.exercised += judged.times
            self.examples += [event.seq for event in judged.examples][: MAX_EXAMPLES - len(self.examples)]
        elif isinstance(judged, Breach):
            self.breach(judged.code, judged.sentence, *judged.events)
        elif isinstance(judged, NotJudged):
            self.leave_unjudged(judged.reason)
        else:
            self.undecided(judged.reason)


def check(
    requirement: str,
    of: Callable[[Timeline], Iterable[Any]] | None = None,
    *,
    where: Callable[[View], bool] | None = None,
    keeps_away: Callable[[Timeline], Iterator[Judged]] | None = None,
) -> Callable[[Callable[..., Iterator[Judged]]], type[TimelineCheck]]:
    """Make a check of a function over the timeline. `requirement` is the id it judges, `of` its subjects.

    `where`: Cases and clients for which this is false are not judged. `keeps_away`: called for a Case that was made for
    the requirement and did not exercise it; it yields a breach if a deviation of the client is the reason.
    """

    def make(function: Callable[..., Iterator[Judged]]) -> type[TimelineCheck]:
        attributes = {
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "__qualname__": function.__qualname__,
            "asks": staticmethod(function),
            "subjects": None if of is None else staticmethod(of),
            "keeps_away": None if keeps_away is None else staticmethod(keeps_away),
            "requirement": RequirementId(requirement),
            "judges": None if where is None else staticmethod(where),
        }
        return type(function.__name__, (TimelineCheck,), attributes)

    return make
