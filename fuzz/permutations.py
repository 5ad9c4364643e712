"""Every permutation of the fast tier with the honest client in virtual time; prints what does not pass.

    python fuzz/permutations.py                      all of them: minutes
    python fuzz/permutations.py --select ack --share 2/8

What is named is wrong: the Case, which is not indifferent to a circumstance and does not say so, or a check.
"""

from __future__ import annotations

import argparse
import sys

from assay_conformance.cases.permutations import permutations
from assay_conformance.model.case import Tier
from assay_conformance.model.verdict import Verdict
from assay_fixtures.packs import own_pack
from assay_fixtures.reference.probe import ReferenceTrial, in_memory
from assay_fixtures.verified import exit_code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--select", default="", help="the beginning of Case ids")
    parser.add_argument("--share", default="1/1", help="the n-th of so many shares, for several processes")
    arguments = parser.parse_args()
    share, shares = map(int, arguments.share.split("/"))
    cases = [case for case in own_pack().cases if case.tier is Tier.FAST and in_memory(case)]
    chosen = [one for case in cases if case.id.startswith(arguments.select) for one in permutations(case)]
    trial, blamed = ReferenceTrial(), 0
    for case in chosen[share - 1 :: shares]:
        for judgement in trial.in_virtual_time(case).judgements:
            if judgement.verdict is not Verdict.PASS:
                blamed += 1
                sys.stdout.write(f"{case.id}: {judgement.requirement} {judgement.verdict}: {judgement.reason}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{len(chosen[share - 1 :: shares])} permutations, {blamed} verdicts that are no pass\n")
    return exit_code(len(chosen[share - 1 :: shares]), blamed, "permutations")


if __name__ == "__main__":
    sys.exit(main())
