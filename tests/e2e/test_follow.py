#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""-f and -ff: the same program, its children watched as it is."""

import collections
import glob
import os
import re
import signal
import subprocess
import time

import harness
from harness import (CLSATTACH, CLSRUN, TARGETS, Case, Log, all_targets,
                     declared, run, running, target, text)

TURNS = 50


def forks(name):
    """Does the target make processes?"""
    path = glob.glob(os.path.join(TARGETS, name + ".c*"))[0]
    with open(path, encoding="utf-8") as file:
        return re.search(r"\b(v?fork|posix_spawn|clone3?)\(", file.read())


def writes(log):
    """How often each process wrote the tally."""
    return collections.Counter(r["pid"] for r in log.accesses
                               if r["op"] != "read")


class Follow(Case):
    def same(self, argv, *options):
        bare = run(argv)
        result, log = self.traced(argv, "-f", *options)
        self.assertEqual(text(bare.out), text(result.out), text(result.err))
        self.assertEqual(bare.status, result.status, text(result.err))
        self.processes(log)
        return log

    def processes(self, log):
        """What the summary says of each agrees with its records."""
        events = collections.Counter(r["pid"] for r in log.accesses)
        told = {}
        for process in log.summary["processes"]:
            told[process["pid"]] = (told.get(process["pid"], 0)
                                    + process["events"])
        self.assertEqual(len(log.accesses), sum(told.values()))
        if any(r["how"] == "vfork" for r in log.of("fork")):
            return  # what such a child does is counted with its parent
        for pid, count in events.items():
            self.assertEqual(count, told.get(pid, 0), pid)

    def family(self, word, *options):
        log = self.same([target("family"), word], "-w", "tally", *options)
        self.assertEqual([], log.of("warning"))
        return log

    def test_prefork(self):
        log = self.family("prefork")
        first = log.records[0]["pid"]
        found = writes(log)
        self.assertEqual(5 + TURNS, found.pop(first))
        self.assertEqual([TURNS + i for i in range(4)],
                         sorted(found.values()))
        self.assertEqual(set(found), {r["child"] for r in log.of("fork")})

    def test_stacks(self):
        """Nothing that is remembered of a parent's stack is a child's."""
        log = self.family("prefork", "--every", "--verify-stacks")
        stacks = log.summary["stacks"]
        self.assertEqual(len(log.accesses), stacks["walked"])
        self.assertEqual(0, stacks["mismatches"])
        self.assertEqual({"main"}, {next(f["function"] for f in a["stack"]
                                         if f.get("function") == "main")
                                    for a in log.accesses})

    def test_storm(self):
        log = self.family("storm")
        found = writes(log)
        self.assertEqual(225, len(log.of("fork")))
        self.assertEqual(226, len(log.summary["processes"]))
        # of 200 children each writes once, and 50 of them (the 25 that fork
        # and their children) once more
        self.assertEqual(25 + 200 + 50, sum(found.values()))
        ends = collections.Counter(
            (p["end"], p.get("signal")) for p in log.summary["processes"])
        self.assertEqual({("killed", 9): 25, ("exited", None): 201},
                         dict(ends))

    def test_chain(self):
        log = self.family("chain")
        # 5 to 0: each program after its exec has a tally of its own
        self.assertEqual([1, 2, 3, 4, 5], sorted(writes(log).values()))
        self.assertEqual(5, len(log.of("exec")))

    def test_spawn(self):
        log = self.family("spawn")
        self.assertEqual(21, len(log.summary["processes"]))
        self.assertEqual(20, len(log.of("exec")))

    def test_orphans(self):
        log = self.family("orphans")
        found = writes(log)
        self.assertEqual([TURNS] * 10, sorted(found.values()))

    def test_threads_that_fork(self):
        log = self.family("threads")
        first = log.records[0]["pid"]
        found = writes(log)
        self.assertEqual(500, found.pop(first))
        self.assertEqual(80 * (TURNS + 1), sum(found.values()))

    def test_shared_memory(self):
        log = self.same([target("family"), "shared"], "-w", "tally",
                        "-w", "map:/dev/zero*")
        # all writers are seen, in whichever of the processes
        self.assertEqual([], log.of("unexplained"))
        counts = collections.Counter(
            r["pid"] for r in log.accesses
            if r["insn"].startswith("lock"))
        self.assertEqual([TURNS] * 4, sorted(counts.values()))

    def test_reaches_into_another(self):
        """process_vm_readv(2) from child to parent, and back: both told."""
        log = self.same([target("remote")], "-w", "box")
        first = log.records[0]["pid"]
        child = [r["child"] for r in log.of("fork")]
        for owner, caller in (first, child[0]), (child[1], first):
            found = [(r["op"], r["size"], r.get("new", r["old"])[-10:])
                     for r in log.accesses if r["by"] == "kernel" and
                     (r["pid"], r["tid"]) == (owner, caller)]
            self.assertEqual(
                [("read", 3, "68656c"), ("read", 9, "776f726c64"),
                 ("write", 3, "48454c"), ("write", 9, "776f726c64"),
                 ("read", 16384), ("read", 8), ("read", 8, "0000000007"),
                 ("write", 8, "0000000008")],
                [f[:2] if i in (4, 5) else f for i, f in enumerate(found)])

    def test_first_in_each(self):
        log = self.same([target("family"), "prefork"], "-w", "map:bss",
                        "--first")
        pages = collections.Counter(
            (r["pid"], harness.number(r["addr"]) >> 12) for r in log.accesses)
        self.assertEqual(5, len({pid for pid, _ in pages}))
        self.assertEqual(1, max(pages.values()))

    def test_sampled(self):
        for word in ("prefork", "storm", "threads"):
            self.same([target("family"), word], "-w", "map:data",
                      "--sample=50")

    def test_survive(self):
        for word in ("prefork", "orphans"):
            self.family(word, "--survive")

    def test_symbol_only_in_the_child(self):
        program = target("family")
        log = self.same(["/bin/sh", "-c", program + " prefork; exit 3"],
                        "-w", "tally")
        self.assertEqual(4 * TURNS + 6 + 5 + TURNS, sum(writes(log).values()))
        log = self.same(["/bin/sh", "-c", program + " prefork; exit 3"],
                        "-w", "tally", "-w", "no_such_thing")
        self.assertEqual(4 * TURNS + 6 + 5 + TURNS, sum(writes(log).values()))
        self.assertIn("no_such_thing", log.of("warning")[-1]["text"])

    def test_log_each(self):
        for name, pattern in (("each", r"each\.(\d+)"),
                              ("p%p%%.log", r"p(\d+)%\.log")):
            result = run([CLSRUN, "-ff", "-w", "tally", "-o", self.path(name),
                          "--", target("family"), "chain"])
            self.assertEqual(run([target("family"), "chain"]).status,
                             result.status, text(result.err))
            found = []
            for file in os.listdir(self.directory):
                match = re.fullmatch(pattern, file)
                if not match:
                    continue
                log = self.read_log(self.path(file))
                self.assertEqual(int(match[1]), log.records[0]["pid"])
                self.assertEqual({int(match[1])} if log.accesses else set(),
                                 {r["pid"] for r in log.accesses})
                found.append(sum(writes(log).values()))
            self.assertEqual([0, 1, 2, 3, 4, 5], sorted(found))

    def test_limit_of_events(self):
        for options in (("-f",), ("-ff",)):
            path = self.new_log()
            result = run([CLSRUN, *options, "-w", "tally", "--max-events",
                          "60", "-o", path, "--", target("family"), "prefork"])
            bare = run([target("family"), "prefork"])
            self.assertEqual((text(bare.out), bare.status),
                             (text(result.out), result.status))
            logs = [Log(p) for p in glob.glob(path + "*")]
            self.assertEqual([], [f for log in logs for f in log.faults])
            self.assertEqual(60, sum(len(log.accesses) for log in logs))

    def test_child_outlives_the_program(self):
        """We end when the last one does, with the first one's status."""
        start = time.monotonic()
        result, log = self.traced(
            ["/bin/sh", "-c", "sleep 2 & exit 5"], "-f", "-w", "map:data",
            "--sample")
        self.assertEqual(5, result.status, text(result.err))
        self.assertGreater(time.monotonic() - start, 1.9)
        self.assertEqual([0, 5],
                         [p["status"] for p in log.summary["processes"]])

    def test_signal_after_the_program(self):
        """Its end has come: a signal lets the children go, unharmed."""
        path = self.new_log()
        with running([CLSRUN, "-f", "-w", "map:data", "--sample", "-o", path,
                      "--", "/bin/sh", "-c",
                      "(sleep 3; echo unharmed) & exit 5"]) as process:
            time.sleep(1.5)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(5, process.wait(30))
            self.assertEqual(b"unharmed\n", process.stdout.read())
        self.assertEqual("interrupted", self.read_log(path).summary
                         ["processes"][-2]["end"])

    def test_attach(self):
        """Children that are born after we came; let go when we leave."""
        script = ("while :; do (i=0; while [ $i -lt 20 ]; do i=$((i+1)); "
                  "done; [ $i = 20 ]) || exit 9; done")
        with running(["/bin/sh", "-c", script]) as process:
            log = self.attach(process.pid, "-f", "-w", "map:data",
                              "--every", "--duration", "2")
            self.assertGreater(len({r["pid"] for r in log.accesses}), 1)
            self.processes(log)
            time.sleep(0.3)
            self.assertIsNone(process.poll())

    def test_needs_a_name(self):
        result = run([CLSRUN, "-ff", "true"])
        self.assertEqual(125, result.status)
        self.assertIn(b"-o FILE", result.err)
        result = run([CLSATTACH, "-fff", "-p", "1"])
        self.assertEqual(125, result.status)
        self.assertIn(b"too often", result.err)


def add(name, arguments):
    def test(self):
        options = declared(name)[0]
        log = self.same([target(name), *arguments], *options)
        # Slices may all come while it sleeps.
        if not any(option.startswith("--sample") for option in options):
            self.assertNotEqual([], log.accesses)
    setattr(Follow, "test_same_" + "_".join([name, *arguments]), test)


# Tested above; with -f of their own (test_same.py); traces its children itself,
# which a tracer of them prevents.
APART = {"family", "seizes"}

for each in all_targets():
    if (each not in APART and "-f" not in declared(each)[0]
            and forks(each)):
        for words in declared(each)[1]:
            add(each, words)


if __name__ == "__main__":
    harness.main()
