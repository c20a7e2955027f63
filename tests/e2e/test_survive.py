#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program lives on, and does what it would have done, when its tracer is
killed at any moment.  CLS_KILLS says how often each test kills: 20 times if it
is not set."""

import os
import random
import time

import harness
import servers
from harness import CLSATTACH, CLSRUN, running, target, text
from test_attach import Attaching

KILLS = int(os.environ.get("CLS_KILLS", "20"))
TRAPS = 100


def traps(path):
    """How many accesses the log has by now."""
    try:
        with open(path, "rb") as file:
            return file.read().count(b'"type":"access"')
    except FileNotFoundError:
        return 0


def armed(path):
    try:
        with open(path, "rb") as file:
            return b'"type":"armed"' in file.read()
    except FileNotFoundError:
        return False


def wait_for_traps(path, count):
    servers.wait_for("%d traps" % count, 60, lambda: traps(path) >= count)


class Killed(Attaching):
    def kill_once(self, mode, threads, rounds, *options):
        """One program, one tracer, one kill: how the program ended."""
        path = self.new_log()
        argv = [target("survive"), mode, str(threads), str(rounds)]
        with running(argv) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            with running([CLSATTACH, "-w", "arena", "--every", "--survive",
                          "-o", path, *options, "-p", str(process.pid)]) as tracer:
                servers.wait_for("armed", 20, lambda: armed(path))
                process.stdin.write(b"x")
                process.stdin.flush()
                wait_for_traps(path, TRAPS)
                time.sleep(random.random() * 0.03)
                self.assertIsNone(tracer.poll(), "ended before the kill")
                tracer.kill()
                tracer.wait()
            out, err = process.communicate(b"", harness.TIMEOUT)
            os.unlink(path)
            return process.returncode, text(out) + text(err)

    def kill_many(self, *arguments):
        ends = {}
        for _ in range(KILLS):
            end = self.kill_once(*arguments)
            ends[end] = ends.get(end, 0) + 1
        print("# %s: %s" % (" ".join(map(str, arguments)), ends), flush=True)
        self.assertEqual({(0, "right\n"): KILLS}, ends)

    def test_one_thread(self):
        self.kill_many("plain", 1, 1000000)

    def test_four_threads(self):
        self.kill_many("plain", 4, 300000)

    def test_own_handler(self):
        self.kill_many("handler", 1, 1000000)

    def test_own_handler_four_threads(self):
        self.kill_many("handler", 4, 300000)


class Let(Attaching):
    def faulting(self, rounds):
        return running([target("survive"), "handler", "1", str(rounds)])

    def test_nothing_is_left(self):
        """Ten detaches, while the program faults on purpose all the time."""
        with self.faulting(10000000000) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            before = self.look(process.pid)
            mappings = harness.mappings(process.pid)
            process.stdin.write(b"x")
            process.stdin.flush()
            own = 0
            for _ in range(10):
                log = self.attach(process.pid, "-w", "arena", "--every",
                                  "--survive", "--duration", "400ms")
                self.assertIs(True, log.records[0]["options"]["survives"])
                # inside of its handler it blocks SIGSEGV itself
                servers.wait_for("the program's mask", 5, lambda: before[
                    "signals"] == harness.signals(process.pid))
                self.assertIsNone(process.poll(), "it ended too early")
                self.assertEqual(mappings, harness.mappings(process.pid))
                own += log.summary["own_signals"]
                self.assertIsNone(process.poll(), "it ended too early")
            process.terminate()
            out, err = process.communicate(b"", harness.TIMEOUT)
            self.assertEqual((0, "right\n"),
                             (process.returncode, text(out)), text(err))
            print("# %d faults of its own seen in 10 attachments" % own)
            self.assertGreater(own, 20)

    def test_between_slices_nothing_is_there(self):
        """Where nothing is closed the program's disposition is its own."""
        path = self.new_log()
        with running([target("survive"), "plain", "1",
                      "1000000000"]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            process.stdin.write(b"x")
            process.stdin.flush()
            before = harness.signals(process.pid)
            seen = set()
            with running([CLSATTACH, "--sample=5", "--survive", "-o", path, "-p",
                          str(process.pid)]) as tracer:
                servers.wait_for("armed", 20, lambda: armed(path))
                for _ in range(400):
                    seen.add(harness.signals(process.pid) == before)
                    time.sleep(0.002)
                tracer.terminate()
                tracer.wait(20)
            self.assertEqual({False, True}, seen)

    def killed(self, argv, options):
        """clsrun is killed: the program's pid, once it has 100 traps."""
        path = self.new_log()
        with running([CLSRUN, "-w", "arena", *options, "-o", path, "--",
                      *argv]) as tracer:
            self.assertEqual(b"ready\n", tracer.stdout.readline())
            tracer.stdin.write(b"x")
            tracer.stdin.flush()
            wait_for_traps(path, TRAPS)
            tracer.kill()
            return text(tracer.communicate(b"", harness.TIMEOUT)[0])

    def test_run(self):
        argv = [target("survive"), "plain", "1"]
        self.assertEqual("", self.killed([*argv, "1000000000"], []))
        self.assertEqual("right\n",
                         self.killed([*argv, "300000"], ["--survive"]))


if __name__ == "__main__":
    harness.main()
