#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks that are watched: all that the program does with them is seen."""

import subprocess

import harness
from harness import Case, run, target

PAGE = 4096
PAGES = 80  # that tests/targets/stackwork.c recurses over


def region(pid):
    """Where the first thread's stack lies."""
    with open("/proc/%d/maps" % pid) as file:
        for line in file:
            if line.rstrip().endswith("[stack]"):
                return [int(end, 16) for end in line.split()[0].split("-")]
    raise LookupError("no stack")


class Stack(Case):
    def work(self, *options):
        bare = run([target("stackwork")])
        result, log = self.traced([target("stackwork")], "-w", "map:stack",
                                  *options)
        self.assertNotIn("stack in use",
                         [c["reason"] for c in log.of("closed")])
        self.assertEqual((bare.status, bare.out, bare.err),
                         (result.status, result.out, result.err))
        return log

    def grown(self, log):
        """Pages that were written below where the stack ended at first."""
        low = min(int(r["start"], 16) for r in log.of("armed")[0]["ranges"]
                  if r.get("component") == "[stack]")
        return {int(a["addr"], 16) // PAGE for a in log.accesses
                if a["component"]["name"] == "[stack]" and "w" in a["op"]
                and int(a["addr"], 16) < low}

    def test_growth(self):
        self.assertGreater(len(self.grown(self.work("--every"))), PAGES // 4)

    def test_growth_first(self):
        self.assertGreater(len(self.grown(self.work("--first"))), PAGES // 4)

    def test_overflow_first(self):
        argv = [target("overflow")]
        bare = run(argv)
        result, _ = self.traced(argv, "-w", "map:stack", "--first")
        self.assertEqual((bare.status, bare.out), (result.status, result.out))

    def test_threads(self):
        log = self.work("--every")
        others = {a["tid"] for a in log.accesses
                  if a["component"]["name"] == "thread stack"}
        self.assertEqual(2, len(others))

    def test_arguments_are_shown(self):
        argv = ["/bin/cat", "/proc/self/cmdline"]
        result, log = self.traced(argv, "-w", "map:stack", "--every")
        self.assertEqual(b"".join(a.encode() + b"\0" for a in argv),
                         result.out)
        self.assertIn("arguments and environment",
                      [r.get("refused") for r in log.of("armed")[0]["ranges"]])

    def refusals(self, *options):
        with subprocess.Popen(["/bin/sleep", "60"]) as process:
            try:
                low, high = region(process.pid)
                log = self.attach(process.pid, "-w", "0x%x+8" % low,
                                  "--duration", "0.05", *options)
                self.assertEqual([low, high], region(process.pid))
            finally:
                process.kill()
        return [r.get("refused") for r in log.of("armed")[0]["ranges"]]

    def test_address(self):
        self.assertEqual([None], self.refusals())

    def test_address_if_it_is_to_survive(self):
        self.assertEqual(["stack in use"], self.refusals("--survive"))


if __name__ == "__main__":
    harness.main()
