"""Plain stretches: what of a long history need not be shown to checks one by one.

A stretch is plain when it begins and ends with nothing under way, and everything in it went as it should: each message
was asked for, sent, stored, receipted, reported, dispatched, handed over and acknowledged, once and in turn, soon
enough for every bound, with nothing between that is anything else (`strictly`). Where something else happened the
history is followed for its own sake until nothing is under way again (`loosely`). What is left without a plain stretch
is again a history: the consumers hold as many permits where it ends as where it began, nothing that is left names
anything in it, and the stretch before whatever else happened and the one after it are never left out
(`leaving_out`).

This is no second opinion on any requirement. What is plain is narrower than what each allows, so it can say of a
stretch that nothing is to be found there, and never that something is: where a history without its plain stretches
shows a finding or a doubt, the whole of it is judged. A check is passed over only if it says so (`Check.skips_plain`).
"""

from assay_conformance.checks.plain.leaving_out import LEAST, LONG, shortened

__all__ = ["LEAST", "LONG", "shortened"]
