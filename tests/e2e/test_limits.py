#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program with little memory left has as much of it as without us."""

import contextlib
import os
import shutil
import signal
import unittest

import harness
import servers
from harness import CLSATTACH, CLSRUN, Case, run, running, target, text

WATCH = ["-w", "map:heap", "-w", "map:data", "-w", "map:bss", "--every"]
INFINITE = (1 << 64) - 1
KIB, MIB = 1 << 10, 1 << 20
# root without the right to raise a hard limit
HUMBLE = ["setpriv", "--bounding-set", "-sys_resource"]


def use():
    """What the program has of data, in bytes."""
    return int(run([target("limited")]).out) * KIB


def soft_limits():
    """None left, less than there is, next to nothing, a little."""
    had = use()
    return 0, had - 200 * KIB, had + 16 * KIB, had + MIB


def log_has_armed(path):
    with contextlib.suppress(FileNotFoundError):
        with open(path, "rb") as file:
            return b'"type":"armed"' in file.read()
    return False


class Limits(Case):
    def compare(self, limits, before=(), watch=WATCH):
        argv = [target("limited"), *map(str, limits)]
        bare = run([*before, *argv])
        if b"setpriv" in bare.err:
            self.skipTest("setpriv is not permitted")
        path = self.new_log()
        result = run([*before, CLSRUN, "-o", path, *watch, "--", *argv])
        self.assertEqual((bare.status, text(bare.out), text(bare.err)),
                         (result.status, text(result.out), text(result.err)),
                         limits)
        log = self.read_log(path)
        self.assertEqual([], log.of("warning"))
        self.assertNotEqual([], log.accesses)

    def test_what_is_ours_does_not_count(self):
        soft = use() + MIB
        self.compare((soft, soft), watch=["-w", "limited:chunks"])

    def test_soft(self):
        for soft in soft_limits()[1:]:
            self.compare((soft, INFINITE))

    def test_hard(self):
        for soft in soft_limits()[:2]:
            self.compare((soft, soft))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"),
                         "needs root to give up a capability")
    def test_hard_that_may_not_be_raised(self):
        for soft in soft_limits():
            self.compare((soft, soft), HUMBLE)


class Attached(Case):
    @contextlib.contextmanager
    def tracing(self, pid):
        path = self.new_log()
        with running([CLSATTACH, "-q", "-o", path, *WATCH, "-p",
                      str(pid)]) as tracer:
            servers.wait_for("armed", 20, lambda: log_has_armed(path))
            yield
            tracer.send_signal(signal.SIGINT)
            _, err = tracer.communicate(timeout=harness.TIMEOUT)
            self.assertEqual((0, ""), (tracer.returncode, text(err)))
        self.assertNotEqual([], self.read_log(path).accesses)

    def outcome(self, soft, tracing):
        """What it printed, and by how much it grew while it was traced."""
        with running([target("limited"), str(soft), str(soft),
                      "wait"]) as process:
            self.assertEqual(b"ready\n", process.stderr.readline())
            before = harness.writable_bytes(process.pid)
            with tracing(process.pid):
                process.stdin.write(b"1")
                process.stdin.flush()
                self.assertEqual(b"done\n", process.stderr.readline())
            grown = harness.writable_bytes(process.pid) - before
            out, _ = process.communicate(b"2", harness.TIMEOUT)
            return process.returncode, text(out), grown

    def test_attach(self):
        for soft in soft_limits():
            self.assertEqual(self.outcome(soft, contextlib.nullcontext),
                             self.outcome(soft, self.tracing), soft)


if __name__ == "__main__":
    harness.main()
