#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A process whose first thread has ended is traced by those that live, and let
go as it was.  Its /proc/PID is a zombie's: no maps, mem, exe or fd."""

import contextlib
import os
import re
import signal
import time

import harness
import servers
import test_attach
from harness import CLSATTACH, number, running, target, text


def first_has_ended(pid):
    return harness.thread_states(pid).get(pid) == "Z"


class Leaderless(test_attach.Attaching):
    @contextlib.contextmanager
    def process(self, *arguments):
        with running([target("leaderless"), *arguments]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            # until it has begun a thread blocks all signals
            servers.wait_for("its threads", 60, lambda: not any(
                int(value, 16) for (tid, key), value in
                harness.signals(process.pid).items()
                if key == "SigBlk" and tid != process.pid))
            yield process

    def tell(self, process, command, answer):
        process.stdin.write(command)
        process.stdin.flush()
        self.assertEqual(answer + b"\n", process.stdout.readline())

    @contextlib.contextmanager
    def tracer(self, pid, *options):
        """clsattach, from when it watches until its log is returned."""
        path = self.new_log()
        log = []
        with running([CLSATTACH, *options, "-o", path, "-p",
                      str(pid)]) as tracer:
            for _ in range(1000):
                if b'"type":"armed"' in test_attach.beginning(path):
                    break
                time.sleep(0.01)
            yield log, tracer
            out, err = tracer.communicate(b"", harness.TIMEOUT)
            self.assertEqual(0, tracer.returncode, text(err))
            log.append(self.read_log(path, err))

    def await_threads(self, threads):
        """Until the log that is being written has events of so many."""
        path = self.path("log%d" % self.logs)
        for _ in range(6000):
            with open(path, "rb") as file:
                seen = set(re.findall(rb'"type":"access".*?"tid":(\d+)',
                                      file.read()))
            if len(seen) >= threads:
                return
            time.sleep(0.01)
        self.fail("events of %d threads only" % len(seen))

    def look(self, pid):
        """Through a thread that lives."""
        found = {key: value for key, value in harness.signals(pid).items()
                 if key[0] != pid}
        tid = max(tid for tid, _ in found)
        return {"signals": found, "mappings": harness.mappings(tid)}

    def assert_as_before(self, pid, before):
        self.assertTrue(first_has_ended(pid))
        self.assertEqual(before, self.look(pid))
        for tid, state in harness.thread_states(pid).items():
            self.assertIn(state, "Z" if tid == pid else "RSD")
            with open("/proc/%d/task/%d/status" % (pid, tid)) as file:
                self.assertIn("TracerPid:\t0\n", file.read())

    def finish(self, process):
        out, err = process.communicate(b"", harness.TIMEOUT)
        self.assertEqual((7, "right\n"), (process.returncode, text(out)),
                         text(err))

    def assert_tells_all(self, log, pid, threads):
        """Events of all, with names and stacks, and of the right program."""
        self.assertEqual(os.path.realpath(target("leaderless")),
                         log.records[0]["executable"])
        self.assertEqual(threads, len({a["tid"] for a in log.accesses}))
        for access in log.accesses:
            self.assertEqual(pid, access["pid"])
            self.assertEqual("leaderless", access["comm"])
            self.assertEqual("tally", access["component"]["name"])
            self.assertEqual("work", access["stack"][0]["function"])

    def test_narrow(self):
        with self.process() as process:
            pid = process.pid
            self.assertTrue(first_has_ended(pid))
            before = self.look(pid)
            for _ in range(3):
                log = self.attach(pid, "-k", "-w", "tally", "--every",
                                  "--max-events", "1000")
                self.assert_tells_all(log, pid, 3)
                self.assertEqual("max-events", log.summary["end"])
                self.assertEqual(1000, log.summary["events"])
                self.assert_as_before(pid, before)
            self.finish(process)

    def test_default(self):
        with self.process() as process:
            before = self.look(process.pid)
            log = self.attach(process.pid, "--duration", "2")
            self.assertTrue(
                {a["component"].get("name") for a in log.accesses}
                & {"tally", "counted", "stop"})
            self.assert_as_before(process.pid, before)
            self.finish(process)

    def test_samples(self):
        """Of those that live; the first thread has no stack to be missed."""
        with self.process() as process:
            log = self.attach(process.pid, "-F", "20", "--duration", "2")
            samples = log.of("sample")
            self.assertIn("work", {frame.get("function")
                                   for s in samples for frame in s["stack"]})
            self.assertNotIn(process.pid, {s["tid"] for s in samples})
            self.finish(process)

    def test_its_end(self):
        """It ends while it is traced: when, and how, is told."""
        with self.process() as process:
            with self.tracer(process.pid, "-w", "tally", "--every") as (
                    log, tracer):
                self.finish(process)
            self.assertEqual(("exited", 7), (log[0].summary["end"],
                                             log[0].summary["status"]))

    def test_who_is_read_ends(self):
        """The thread whose files in /proc we have, and another after it."""
        with self.process() as process:
            with self.tracer(process.pid, "-k", "-w", "tally", "--every") as (
                    log, tracer):
                self.await_threads(3)
                self.tell(process, b"w", b"gone")
                time.sleep(0.2)
                self.tell(process, b"w", b"gone")
                time.sleep(0.2)
                tracer.send_signal(signal.SIGINT)
            self.assert_tells_all(log[0], process.pid, 3)
            self.assertEqual("interrupted", log[0].summary["end"])
            before = self.look(process.pid)
            again = self.attach(process.pid, "-k", "-w", "tally", "--every",
                                "--max-events", "50")
            self.assert_tells_all(again, process.pid, 1)
            self.assert_as_before(process.pid, before)
            self.finish(process)

    def test_ends_while_traced(self):
        """The first thread does, which nobody tells; then it is let go."""
        for options in (["--every", "-w", "tally"],
                        ["--sample=50", "-w", "map:bss"]):
            with self.subTest(options), self.process("late") as process:
                with self.tracer(process.pid, "-k", *options) as (
                        log, tracer):
                    self.tell(process, b"l", b"ended")
                    time.sleep(0.3)
                    self.tell(process, b"w", b"gone")
                    time.sleep(0.3)
                    tracer.send_signal(signal.SIGINT)
                self.assertEqual("interrupted", log[0].summary["end"])
                before = self.look(process.pid)
                self.assert_as_before(process.pid, before)
                again = self.attach(process.pid, "-k", *options,
                                    "--max-events", "20")
                self.assertEqual(20, len(again.accesses))
                self.finish(process)

    def test_children(self):
        with self.process() as process:
            with self.tracer(process.pid, "-f", "-w", "tally", "--every") as (
                    log, tracer):
                self.tell(process, b"f", b"forked")
                self.finish(process)
            child = log[0].of("fork")[0]["child"]
            writes = [a for a in log[0].accesses
                      if a["pid"] == child and "write" in a["op"]]
            self.assertEqual(list(range(1, 11)),
                             [number(a["new"]) for a in writes])
            self.assertEqual(
                {(process.pid, 7), (child, 3)},
                {(p["pid"], p["status"])
                 for p in log[0].summary["processes"]})

    def test_exec(self):
        """A thread that is not the first becomes it."""
        with self.process() as process:
            with self.tracer(process.pid, "-w", "tally", "--every") as (
                    log, tracer):
                self.tell(process, b"e", b"again")
                self.assertEqual(4, process.wait(harness.TIMEOUT))
            self.assertEqual(1, len(log[0].of("exec")))
            after = [a for a in log[0].accesses
                     if a["tid"] == process.pid and "write" in a["op"]]
            self.assertEqual(list(range(1, 11)),
                             [number(a["new"]) for a in after])
            self.assertEqual(("exited", 4), (log[0].summary["end"],
                                             log[0].summary["status"]))

    def test_survives(self):
        """The tracer itself is killed, while pages are closed."""
        with self.process() as process:
            path = self.new_log()
            with running([CLSATTACH, "--survive", "-w", "tally", "--every",
                          "-o", path, "-p", str(process.pid)]):
                for _ in range(1000):
                    if b'"type":"access"' in test_attach.beginning(path):
                        break
                    time.sleep(0.01)
                tid = max(harness.thread_states(process.pid))
                with open("/proc/%d/status" % tid) as file:
                    tracer = re.search(r"TracerPid:\t(\d+)", file.read())
                os.kill(int(tracer.group(1)), signal.SIGKILL)
                self.finish(process)


if __name__ == "__main__":
    harness.main()
