#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""System calls that touch nothing watched, and the filters that spare them."""

import shutil
import unittest

import harness
from harness import Case, run, target

WATCH = ["-w", "box"]
POWERLESS = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]


def may_filter():
    """CAP_SYS_ADMIN, or no_new_privs from the start; and no filter yet."""
    with open("/proc/self/status") as file:
        status = dict(line.split(":\t", 1) for line in file)
    return ((int(status["CapEff"], 16) >> 21 & 1
             or int(status["NoNewPrivs"])) and int(status["Seccomp"]) == 0)


def kernel(log, op):
    return [a for a in log.accesses if a["by"] == "kernel" and a["op"] == op]


@unittest.skipUnless(may_filter(), "no filter can be installed here")
class Seccomp(Case):
    def sieve(self, what, *options):
        bare = run([target("sieve"), what])
        result, log = self.traced([target("sieve"), what], *WATCH, *options)
        self.assertEqual((bare.status, bare.out), (result.status, result.out))
        self.way = log.records[0]["options"]["syscalls"]
        return log

    def test_each_call_is_one_event(self):
        log = self.sieve("calls")
        self.assertEqual(("seccomp", 1), (self.way, log.summary["filters"]))
        # a read over the middle, one at the end; a write over the middle
        self.assertEqual(50 * [64, 1], [a["size"] for a in
                                        kernel(log, "write")])
        self.assertEqual(50 * [64], [a["size"] for a in kernel(log, "read")])
        self.assertEqual([], log.summary["unseen"])

    def test_calls_left_out_work_and_are_counted(self):
        for options in [], ["--survive"]:
            log = self.sieve("calls", "--no-syscalls", *options)
            self.assertEqual("none", self.way)
            self.assertEqual([], kernel(log, "read") + kernel(log, "write"))
            self.assertEqual(0, log.summary["accesses"]["kernel"])
            self.assertNotEqual([], log.accesses)
        log = self.sieve("calls", "--no-syscalls", "--every")
        self.assertEqual([150], [u["count"] for u in log.summary["unseen"]])

    def test_after_exec_other_ranges_are_told(self):
        log = self.sieve("exec")
        self.assertEqual(150, len(kernel(log, "write") + kernel(log, "read")))

    def test_with_threads_too(self):
        log = self.sieve("threads")
        self.assertGreaterEqual(log.summary["filters"], 1)
        self.assertEqual(150, len(kernel(log, "write") + kernel(log, "read")))

    def test_what_joins_later(self):
        _, log = self.traced([target("joins")], *WATCH, "-w",
                             "libm.so.6:signgam")
        self.assertEqual(2, log.summary["filters"])
        self.assertEqual(11, len(kernel(log, "write")))
        self.assertEqual(1, len(kernel(log, "read")))

    def test_own_filters_end_it(self):
        log = self.sieve("own")
        self.assertEqual(1, log.summary["filters"])
        self.assertEqual(150, len(kernel(log, "write") + kernel(log, "read")))

    def test_at_a_limit_it_stays_and_is_not_noticed(self):
        for what in "calls", "ask", "own", "children", "exec", "threads":
            log = self.sieve(what, "--max-events", "2")
            self.assertEqual("max-events", log.summary["end"])
        log = self.sieve("calls", "--max-events", "20")
        self.assertEqual(1, log.summary["filters"])

    def test_none_where_it_could_be_told(self):
        for options in ["--survive"], ["--sample=50"]:
            log = self.sieve("calls", *options)
            self.assertEqual(("ptrace", 0), (self.way,
                                             log.summary["filters"]))

    def test_none_in_a_program_that_forks_first(self):
        log = self.sieve("forks")
        self.assertEqual(("seccomp", 0), (self.way, log.summary["filters"]))

    def test_strict_mode(self):
        """Refused where a filter of ours is, and that is said; works without.
        """
        argv = [target("sieve"), "strict"]
        self.assertEqual((1, b"strict\n"), (run(argv).status, run(argv).out))
        result, log = self.traced(argv, *WATCH)
        self.assertEqual((1, b"refused\n"), (result.status, result.out))
        self.assertEqual([True], ["SECCOMP_MODE_STRICT" in w["text"]
                                  for w in log.of("warning")])
        result, log = self.traced(argv, *WATCH, "--survive")
        self.assertEqual((1, b"strict\n"), (result.status, result.out))
        self.assertEqual([], log.of("warning"))

    def test_a_child_outlives_it(self):
        log = self.sieve("orphan")
        self.assertEqual(("exited", 1), (log.summary["end"],
                                         log.summary["filters"]))

    @unittest.skipUnless(shutil.which("setpriv"), "no setpriv")
    def test_without_the_capability(self):
        for more, way, filters in [([], "ptrace", 0),
                                   (["--no-new-privs"], "seccomp", 1)]:
            path = self.new_log()
            result = run([*POWERLESS, *more, harness.CLSRUN, *WATCH, "-o",
                          path, "--", target("sieve"), "calls"])
            log = self.read_log(path, result.err)
            self.assertEqual(0, result.status)
            self.assertEqual(way, log.records[0]["options"]["syscalls"])
            self.assertEqual(filters, log.summary["filters"])
            self.assertEqual(150, len(kernel(log, "write") +
                                      kernel(log, "read")))


if __name__ == "__main__":
    harness.main()
