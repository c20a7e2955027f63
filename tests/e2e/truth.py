# SPDX-License-Identifier: Apache-2.0
"""What a target says of its memory, compared with what the log says of it.

A target prints claims: {"start", "end", "class"} of each object, and where it
is known "members": [[start, end, name], ...]; "class": null, where memory
belongs to no object any longer.  Of accesses elsewhere nothing is known.
"""

import bisect
import collections


class Truth:
    def __init__(self, claims):
        self.claims = sorted(claims, key=lambda c: c["start"])
        self.starts = [c["start"] for c in self.claims]

    def of(self, addr):
        """The claim for an address, or None."""
        i = bisect.bisect_right(self.starts, addr) - 1
        if i < 0 or addr >= self.claims[i]["end"]:
            return None
        return self.claims[i]

    def compare(self, accesses):
        score = Score()
        for access in accesses:
            addr = int(access["addr"], 16)
            claim = self.of(addr)
            if claim is not None:
                score.add(access, addr, claim)
        return score


def member_of(claim, addr):
    for start, end, name in claim.get("members", ()):
        if start <= addr < end:
            return name
    return None


class Score:
    """How many answers were given, and how many of them are right."""

    def __init__(self):
        self.accesses = self.named = self.right = 0
        self.members = self.members_right = 0
        self.wrong = collections.Counter()

    def add(self, access, addr, claim):
        component = access.get("component", {})
        said = component.get("class")
        if claim["class"] is None:
            # Whatever it is now, it is not what it was.
            if said == claim["was"]:
                self.named += 1
                self.miss("freed", said, component)
            return
        self.accesses += 1
        if said is None:
            self.miss("unnamed", claim["class"], component)
            return
        self.named += 1
        if said != claim["class"]:
            self.miss("class", claim["class"], component)
            return
        self.right += 1
        member = member_of(claim, addr)
        if member is None:
            return
        self.members += 1
        if component.get("member") == member:
            self.members_right += 1
        else:
            self.miss("member", "%s.%s" % (said, member), component)

    def miss(self, what, expected, component):
        self.wrong[what, expected, component.get("class"),
                   component.get("name"), component.get("member"),
                   component.get("how")] += 1

    @property
    def precision(self):
        return self.right / self.named if self.named else 0.0

    @property
    def recall(self):
        return self.named / self.accesses if self.accesses else 0.0

    @property
    def member_precision(self):
        return self.members_right / self.members if self.members else 0.0

    def __str__(self):
        lines = ["%d accesses, precision %.5f, recall %.5f; %d members, "
                 "right %.5f" % (self.accesses, self.precision, self.recall,
                                 self.members, self.member_precision)]
        lines += ["%6d %s" % (n, wrong)
                  for wrong, n in self.wrong.most_common(12)]
        return "\n".join(lines)
