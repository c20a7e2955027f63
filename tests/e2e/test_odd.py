#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that are not as others are."""

import os
import pwd

import harness
import servers
from harness import CLSATTACH, CLSRUN, run, running, target, text
from test_attach import Attaching


class Confined(Attaching):
    """A program whose filter kills it for an mprotect(2), and a tracer that
    may not suspend filters: one refusal, and the program lives."""

    def setUp(self):
        super().setUp()
        self.user = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid,
                         "extra_groups": []}
            os.chown(self.directory, nobody.pw_uid, nobody.pw_gid)
        try:
            run([CLSRUN, "--version"], **self.user)
        except PermissionError:
            self.skipTest("another user cannot reach the build directory")

    def let_go(self, *options):
        result, log = self.traced([target("filtered")], *options, **self.user)
        self.assertEqual((0, "400\n"), (result.status, text(result.out)),
                         text(result.err))
        self.assertEqual("detached", log.summary["end"])
        self.assertIn("seccomp", log.of("warning")[-1]["text"])

    def test_while_its_calls_are_seen(self):
        self.let_go("-w", "watched", "--every")

    def test_while_they_are_not(self):
        """It does so between two slices."""
        self.let_go("-w", "map:data", "--sample=1")

    def test_before_we_came(self):
        path = self.new_log()
        with running([target("filtered")], **self.user) as process:
            def filtered():
                return any(
                    b"Seccomp:\t2" in open(
                        "/proc/%d/task/%s/status" % (process.pid, tid),
                        "rb").read()
                    for tid in os.listdir("/proc/%d/task" % process.pid))
            servers.wait_for("a filter", 10, filtered)
            tracer = run([CLSATTACH, "-w", "watched", "--every", "-o", path,
                          "-p", str(process.pid)], **self.user)
            self.assertEqual(125, tracer.status, text(tracer.err))
            self.assertIn("seccomp", text(tracer.err))
            out, err = process.communicate(b"", harness.TIMEOUT)
            self.assertEqual((0, "400\n"), (process.returncode, text(out)),
                             text(err))


class Userfaults(Attaching):
    """Memory whose pages the program provides: refused by name."""

    WATCH = ["-w", "array", "-w", "hole", "--every"]
    REASON = "registered with a userfaultfd"

    def test_while_it_registers(self):
        result, log = self.traced([target("userfault")], *self.WATCH)
        self.assertEqual((0, b""), (result.status, result.err))
        self.assertEqual([self.REASON] * 2,
                         [closed["reason"] for closed in log.of("closed")])

    def test_before_we_came(self):
        with running([target("userfault"), "wait"]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            log = self.attach(process.pid, *self.WATCH, "--duration", "0.3")
            out, err = process.communicate(b"\n", harness.TIMEOUT)
        self.assertEqual((0, "1828\n12\n"), (process.returncode, text(out)),
                         text(err))
        ranges = {r["watch"]: r.get("refused")
                  for r in log.of("armed")[0]["ranges"]}
        self.assertEqual({"array": None, "hole": self.REASON}, ranges)


class Rings(Attaching):
    """Memory that an io_uring was given once; that the program sees no
    difference under --every, test_same tells."""

    REASON = "buffer of asynchronous I/O"

    def reads(self, how, *options):
        bare = run([target("rings"), how])
        if bare.out.startswith(b"no"):
            self.skipTest(text(bare.out))
        result, log = self.traced([target("rings"), how], "-w", "box",
                                  *options)
        self.assertEqual((text(bare.out), bare.status),
                         (text(result.out), result.status), text(result.err))
        return log

    def test_pinned_buffers_are_named(self):
        closed, = self.reads("fixed").of("closed")
        self.assertEqual(
            (self.REASON, 8192), (closed["reason"], int(closed["end"], 16) -
                                  int(closed["start"], 16)))

    def test_rings_of_the_program_are_named(self):
        closed = self.reads("own", "-w", "control").of("closed")
        self.assertEqual({self.REASON}, {each["reason"] for each in closed})

    def test_stores_alone_give_memory(self):
        for how in ("grown", "polled"):
            with self.subTest(how):
                closed = self.reads(how).of("closed")
                self.assertEqual([self.REASON] * 3,
                                 [each["reason"] for each in closed])

    def test_sampled(self):
        for how in ("mapped", "polled"):
            with self.subTest(how):
                self.reads(how, "--sample")

    def test_pinned_before_we_came(self):
        with running([target("rings"), "fixed", "wait"]) as process:
            line = text(process.stdout.readline())
            if line.startswith("no"):
                self.skipTest(line)
            log = self.attach(process.pid, "-w", "box", "--duration", "0.3")
            out, err = process.communicate(b"\n", harness.TIMEOUT)
        self.assertEqual((0, "5\nh\n----\n"), (process.returncode, text(out)),
                         text(err))
        self.assertIn(self.REASON, [r.get("refused")
                                    for r in log.of("armed")[0]["ranges"]])


class Pending(Attaching):
    """A blocked signal that the program sent itself waits, while we come,
    close pages, and go; for SIGSEGV see test_survive.py."""

    def cycles(self, *how):
        argv = [target("pending"), *how, "1000"]
        bare = run(argv)
        events = 0
        with running(argv) as process:
            while process.poll() is None:
                path = self.new_log()
                run([CLSATTACH, "-w", "array", "--every", "--duration", "0.05",
                     "-o", path, "-p", str(process.pid)])
                if os.path.exists(path):
                    events += len(harness.Log(path).accesses)
            out, err = process.communicate(b"", harness.TIMEOUT)
        self.assertEqual((0, text(bare.out)), (process.returncode, text(out)),
                         text(err))
        self.assertLess(100, events)

    def test_trap(self):
        self.cycles("TRAP", "both")


if __name__ == "__main__":
    harness.main()
