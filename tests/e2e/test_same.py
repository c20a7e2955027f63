#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every target, bare and under clsrun: the same output and the same end."""

import harness
from harness import Case, all_targets, declared, run, target, text

# How often each program touches what it watches is its own affair; these may
# touch it so that a sampled watch sees nothing.
SAMPLED = {"churn"}

# Memory that is written behind the tracer's back.
UNEXPLAINED = {"unexplained"}


class Same(Case):
    def compare(self, name, arguments):
        options, _ = declared(name)
        argv = [target(name), *arguments]
        bare = run(argv)
        result, log = self.traced(argv, "-q", *options)
        self.assertEqual(text(bare.out), text(result.out), text(result.err))
        self.assertEqual(bare.status, result.status, text(result.err))
        self.assertEqual(text(bare.err), text(result.err))
        self.assertEqual(0, log.summary["events"] - len(log.accesses))
        if name not in UNEXPLAINED:
            self.assertEqual([], log.of("unexplained"))
        if name not in SAMPLED:
            self.assertNotEqual([], log.accesses, "no access was seen")


def add(name, arguments):
    def test(self):
        self.compare(name, arguments)
    setattr(Same, "test_" + "_".join([name, *arguments]), test)


for each in all_targets():
    for words in declared(each)[1]:
        add(each, words)


if __name__ == "__main__":
    harness.main()
