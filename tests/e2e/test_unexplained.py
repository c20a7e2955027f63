#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Watched memory that changes, and no writer is seen."""

import harness
from harness import Case, run, target


class Unexplained(Case):
    def found(self, *options):
        bare = run([target("unexplained")])
        if bare.status == 77:
            self.skipTest("no process may write into another here")
        result, log = self.traced([target("unexplained")], *options)
        self.assertEqual((0, bare.out), (result.status, result.out),
                         result.err)
        records = log.of("unexplained")
        self.assertEqual(len(records), log.summary["unexplained"])
        start = int(log.of("armed")[0]["ranges"][0]["start"], 16)
        return log, [(int(r["addr"], 16) - start, r["old"], r["new"])
                     for r in records]

    def test_each_foreign_write_and_nothing_else(self):
        for more in [], ["--no-run-ahead"], ["--on", "write"], ["--survive"], ["-f"]:
            log, found = self.found("-w", "box", *more)
            self.assertEqual({(4, "0x00000000", "0x11111111"),
                              (8, "0x00000000", "0x22222222"),
                              (3600, "0x00000000", "0x33333333")},
                             set(found), more)
            self.assertEqual(3, len(found))
            # no writer is invented
            self.assertEqual([], [a for a in log.accesses if a.get("new") in
                                  ("0x11111111", "0x33333333")])

    def test_armed_tells_what_cannot_be_seen(self):
        log, _ = self.found("-w", "box")
        plain = log.of("armed")[0]["blind"]
        self.assertTrue(any("process_vm_writev" in x for x in plain))
        for option, word in [("--sample", "between slices"),
                             ("--first", "after the first of each page"),
                             ("--no-syscalls", "by system calls")]:
            log, _ = self.found("-w", "box", option)
            more = set(log.of("armed")[0]["blind"]) - set(plain)
            self.assertEqual([True], [word in x for x in more], option)

    def test_none_where_the_watch_is_not_narrow(self):
        _, found = self.found("-w", "box", "--sample=50")
        self.assertEqual([], found)


if __name__ == "__main__":
    harness.main()
