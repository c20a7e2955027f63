#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks that are watched: all that the program does with them is seen."""

import os
import subprocess

import harness
from harness import Case, number, run, target, text

PAGE = 4096
PLACES = 15  # that tests/targets/locals.cc tells of, at least
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
        first = log.of("header")[0]["pid"]
        low = min(int(r["start"], 16) for r in log.of("armed")[0]["ranges"]
                  if r.get("component") == "[stack]")
        return {int(a["addr"], 16) // PAGE for a in log.accesses
                if a["component"]["kind"] == "stack" and "w" in a["op"]
                and a["tid"] == first and int(a["addr"], 16) < low}

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
                  if a["component"]["kind"] == "stack"} - {
                      log.of("header")[0]["pid"]}
        self.assertEqual(2, len(others))

    def test_stacks_of_all_kinds(self):
        for case in ("alloca", "altstack", "coroutine", "longjmp", "stale",
                     "noreturn", "threads"):
            argv = [target("stacks"), case, "20"]
            bare = run(argv)
            result, log = self.traced(argv, "-w", "map:stack", "--every")
            self.assertEqual((bare.status, bare.out, bare.err),
                             (result.status, result.out, result.err), case)
            self.assertLess(200, len(log.accesses), case)

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


class Variables(Case):
    """What lies there, by its name."""

    def told(self, out):
        """(address, value) -> kind, function or class, variable."""
        lines = [line.split("\t") for line in text(out).splitlines()]
        return {(int(line[3], 16), int(line[4])): tuple(line[:3])
                for line in lines if len(line) == 5}

    def seen(self, log, truth):
        found = {}
        for access in log.accesses:
            if access["op"] != "write" or access.get("size") != 4:
                continue
            key = (number(access["addr"]), number(access["new"]))
            if key in truth:
                component = access["component"]
                found[key] = (component["kind"],
                              component.get("class", component.get("name")),
                              component.get("member"))
                self.assertEqual("exact", component["confidence"])
        return found

    def check(self, name, *options):
        result, log = self.traced([target(name), "say"], "--every",
                                  "-w", "map:stack", *options)
        self.assertEqual(0, result.status)
        truth = self.told(result.out)
        self.assertLessEqual(PLACES, len(truth))
        self.assertEqual(truth, self.seen(log, truth))
        # What is saved on a stack looks like objects, too.
        self.assertLessEqual({a["component"]["class"] for a in log.accesses
                              if a["component"]["kind"] == "object"},
                             {"Dog", "Animal"})
        return log

    def test_each(self):
        self.check("locals")

    def test_optimized(self):
        self.check("locals_fast")

    def test_each_by_clang(self):
        self.check_clang("locals_clang-O0")

    def test_optimized_by_clang(self):
        self.check_clang("locals_clang-O2")

    def check_clang(self, name):
        if not os.access(target(name), os.X_OK):
            self.skipTest("no clang++")
        self.check(name)

    def test_not_ahead(self):
        self.check("locals_fast", "--no-run-ahead")

    def test_stacks_are_not_counted(self):
        log = self.check("locals_fast", "-k")
        self.assertEqual(sum("stack" in a for a in log.accesses),
                         log.summary["stacks"]["walked"])

    def test_without_debug_information(self):
        stripped = os.path.join(self.directory, "stripped")
        subprocess.run(["strip", "-g", "-o", stripped, target("locals")],
                       check=True)
        _, log = self.traced([stripped], "--every", "-w", "map:stack")
        frames = [a["component"] for a in log.accesses
                  if a["component"].get("name") == "recurse(int)"]
        self.assertLess(20, len(frames))
        for frame in frames:
            self.assertEqual(("frame", "likely"),
                             (frame["how"], frame["confidence"]))
            self.assertEqual("cfa-%d" % (frame["size"] - frame["offset"]),
                             frame["member"])


if __name__ == "__main__":
    harness.main()
