#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""clsattach goes into a running program and out again, and nothing of it is
left behind nor was seen inside.  CLS_CYCLES says how often test_cycles does: 20
times if it is not set."""

import functools
import os
import shutil
import signal
import sys
import time
import unittest

import harness
import servers
from harness import CLSATTACH, Case, running, target, text


CYCLES = int(os.environ.get("CLS_CYCLES", "20"))
# stacks that are mapped and unmapped meanwhile
STORM_SLACK = 8 * (8 << 20)


def may_attach():
    """Yama lets only root, or nobody, trace a process that is no child."""
    if os.geteuid() == 0:
        return True
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            return file.read().strip() == "0"
    except OSError:
        return True


def beginning(path):
    """The first bytes of a log that is being written."""
    try:
        with open(path, "rb") as file:
            return file.read(1 << 16)
    except FileNotFoundError:
        return b""


def in_epoll_wait(pid):
    with open("/proc/%d/syscall" % pid) as file:
        return file.read().startswith("232 ")


def comm(tid):
    try:
        with open("/proc/%d/comm" % tid) as file:
            return file.read().strip()
    except OSError:
        return ""


class Attaching(Case):
    def setUp(self):
        super().setUp()
        if not may_attach():
            self.skipTest("kernel.yama.ptrace_scope forbids attaching")

    def assert_untouched(self, pid, before):
        """No thread stopped, no signal's state, no right of a page changed."""
        with open("/proc/%d/status" % pid) as file:
            self.assertIn("TracerPid:\t0\n", file.read())
        states = harness.thread_states(pid)
        after = harness.signals(pid)
        # others may be on their way out
        known = {tid for tid, _ in before["signals"]}
        self.assertEqual([], [s for tid, s in states.items()
                              if s in "tTZX" and tid in known])
        both = set(after) & set(before["signals"])
        self.assertTrue(both)
        self.assertEqual({k: before["signals"][k] for k in both},
                         {k: after[k] for k in both})
        self.assertEqual(before["mappings"], harness.fixed_mappings(pid))
        # arenas and stacks that come have reserves; ours would be rw memory
        # that became forbidden
        self.assertLessEqual(
            before["writable"] - harness.writable_bytes(pid), before["slack"])

    def look(self, pid, slack=0):
        return {"signals": harness.signals(pid),
                "mappings": harness.fixed_mappings(pid),
                "writable": harness.writable_bytes(pid), "slack": slack}


class Transfers(Attaching):
    def transferring(self, *options):
        """By each call; that it is broken off is no reason to do less."""
        for call in ("write", "writev", "send", "sendmsg", "recv",
                     "sendfile"):
            cycles = 0
            with running([target("transfers"), call]) as process:
                self.assertEqual(b"ready\n", process.stdout.readline())
                while process.poll() is None:
                    harness.run([harness.CLSATTACH, "-q", "--duration",
                                 "100ms", "-o", self.new_log(), *options, "-p",
                                 str(process.pid)])
                    cycles += 1
                out = process.communicate(b"", harness.TIMEOUT)[0]
                self.assertEqual((0, "0 of 30 in part\n"),
                                 (process.returncode, text(out)), call)
            self.assertTrue(cycles)

    def test_transfers_while_all_is_watched(self):
        self.transferring()

    def test_transfers_elsewhere(self):
        self.transferring("-w", "pair", "--every")


class Hammer(Attaching):
    def hammering(self):
        return running([target("hammer")])

    def stop(self, process):
        """By job control, while its threads wait in a call."""
        self.assertEqual(b"ready\n", process.stdout.readline())
        servers.wait_for("epoll_wait", 10, lambda: in_epoll_wait(process.pid))
        os.kill(process.pid, signal.SIGSTOP)
        servers.wait_for("stop", 10, lambda: set(
            harness.thread_states(process.pid).values()) == {"T"})

    def finish(self, process, interrupted=0):
        out, err = process.communicate(b"", harness.TIMEOUT)
        self.assertEqual((0, "right, interrupted %d\n" % interrupted),
                         (process.returncode, text(out)), text(err))

    def test_100_cycles(self):
        events = 0
        with self.hammering() as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            before = self.look(process.pid)
            for cycle in range(100):
                log = self.attach(process.pid, "-w", "arena", "--every",
                                  "--duration", "20ms")
                self.assertEqual("duration", log.summary["end"])
                events += len(log.accesses)
                self.assert_untouched(process.pid, before)
            self.finish(process)
        self.assertGreater(events, 100)

    def test_cycles(self):
        """While threads are born and gone all the time."""
        events = 0
        with running([target("hammer"), "storm"]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            before = self.look(process.pid, slack=STORM_SLACK)
            # who creates a thread blocks all signals meanwhile
            before["signals"] = {
                (tid, key): value
                for (tid, key), value in before["signals"].items()
                if comm(tid) not in ("storm", "")}
            for _ in range(CYCLES):
                log = self.attach(process.pid, "-w", "arena", "--every",
                                  "--duration", "20ms")
                self.assertEqual("duration", log.summary["end"])
                events += len(log.accesses)
                os.unlink(self.path("log%d" % self.logs))
                self.assert_untouched(process.pid, before)
            self.finish(process)
        print("# %d detaches, %d events" % (CYCLES, events), flush=True)
        self.assertGreater(events, CYCLES)

    def list(self, pid):
        path = self.new_log()
        done = harness.run([harness.CLSATTACH, "--list", "-o", path, "-p",
                            str(pid)])
        self.assertEqual(0, done.status, text(done.err))
        self.assertEqual("listed", self.read_log(path).summary["end"])

    def test_listed(self):
        with self.hammering() as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            before = self.look(process.pid)
            for _ in range(10):
                self.list(process.pid)
                self.assert_untouched(process.pid, before)
            self.finish(process)

    def test_listed_while_stopped(self):
        with self.hammering() as process:
            self.stop(process)
            self.list(process.pid)
            time.sleep(0.1)
            self.assertEqual({"T"}, set(
                harness.thread_states(process.pid).values()))
            os.kill(process.pid, signal.SIGCONT)
            self.finish(process, interrupted=1)

    def test_every_thread_is_seen(self):
        with self.hammering() as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            log = self.attach(process.pid, "-w", "arena", "--every",
                              "--max-events", "2000")
            self.assertEqual("max-events", log.summary["end"])
            self.assertEqual(2000, len(log.accesses))
            self.assertEqual(4, len({a["tid"] for a in log.accesses}))
            self.finish(process)

    def interrupted(self, number):
        path = self.new_log()
        with self.hammering() as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            before = self.look(process.pid)
            with running([CLSATTACH, "-w", "arena", "--every", "-o", path,
                          "-p", str(process.pid)],
                         # as nohup and the shell's & may leave it ignored
                         preexec_fn=lambda: signal.signal(
                             number, signal.SIG_DFL)) as tracer:
                servers.wait_for("events", 20, lambda: b'"access"' in
                                 beginning(path))
                tracer.send_signal(number)
                _, err = tracer.communicate(timeout=20)
                self.assertEqual(0, tracer.returncode, text(err))
            self.assertEqual("interrupted", self.read_log(path).summary["end"])
            self.assert_untouched(process.pid, before)
            self.finish(process)

    def test_interrupt_detaches(self):
        self.interrupted(signal.SIGINT)

    def test_terminate_detaches(self):
        self.interrupted(signal.SIGTERM)

    def test_arming_anew_is_not_seen(self):
        with self.hammering() as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            log = self.attach(process.pid, "-w", "arena", "--sample=50",
                              "--duration", "1")
            self.assertGreater(log.summary["slices"], 5)
            self.finish(process)

    def test_other_signals_detach(self):
        for number in (signal.SIGQUIT, signal.SIGUSR1, signal.SIGHUP):
            self.interrupted(number)

    def test_program_ends_first(self):
        path = self.new_log()
        with self.hammering() as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            with running([CLSATTACH, "-w", "arena", "--sample", "-o", path,
                          "-p", str(process.pid)]) as tracer:
                servers.wait_for("armed", 20, lambda: b'"armed"' in
                                 beginning(path))
                self.finish(process)
                _, err = tracer.communicate(timeout=20)
                self.assertEqual(0, tracer.returncode, text(err))
            self.assertEqual("exited", self.read_log(path).summary["end"])

    def test_stopped_program_stays_stopped(self):
        with self.hammering() as process:
            self.stop(process)
            self.attach(process.pid, "-w", "arena", "--duration", "200ms")
            time.sleep(0.2)
            self.assertEqual({"T"}, set(
                harness.thread_states(process.pid).values()))
            os.kill(process.pid, signal.SIGCONT)
            # to be stopped ends epoll_wait(2) with EINTR, traced or not
            self.finish(process, interrupted=1)


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return int(file.read().split()[0])


class Crowded(Attaching):
    def test_limit_of_mappings(self):
        with open("/proc/sys/vm/max_map_count") as file:
            limit = int(file.read())
        if limit > 100000:
            self.skipTest("vm.max_map_count is too large to reach")
        with running([target("crowded"), str(limit)]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            # It may give up, but not with pages closed.
            harness.run([CLSATTACH, "--first", "--duration", "1", "-o",
                         self.new_log(), "-p", str(process.pid)])
            out, err = process.communicate(b"", harness.TIMEOUT)
            bare = harness.run([target("crowded"), "2"])
            self.assertEqual((0, bare.out), (process.returncode,
                                             b"ready\n" + out), text(err))


class Executing(Attaching):
    def test_left_before_the_entry(self):
        """It may be let go while the loader of the next program runs."""
        for i in range(20):
            path = self.new_log()
            with running([sys.executable, "-S", "-c", harness.AGAIN, "40"],
                         env=dict(os.environ, AGAIN=harness.AGAIN)) as process:
                options = [["--every"], ["-f", "--on", "write"]][i % 2]
                with running([CLSATTACH, *options, "-w", "map:data",
                              "--duration", "%dms" % (20 + 7 * i), "-o", path,
                              "-p", str(process.pid)]) as tracer:
                    tracer.wait(harness.TIMEOUT)
                process.communicate(b"", harness.TIMEOUT)
                self.assertEqual(7, process.returncode)


class Namespaces(Attaching):
    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"),
                         "cannot make a namespace")
    def test_signal_in_another_pid_namespace(self):
        argv = ["unshare", "--pid", "--fork", target("divide")]
        with running(argv) as process:
            if process.stdout.readline() != b"ready\n":
                self.skipTest("unshare is not permitted")
            log = self.attach(child_of(process.pid), "-w", "watched",
                              "--every", "--duration", "300ms")
            self.assertEqual("duration", log.summary["end"])
            self.assertNotEqual([], log.accesses)
            out, err = process.communicate(b"", harness.TIMEOUT)
            self.assertEqual((0, "1000\n"), (process.returncode, text(out)),
                             text(err))


class Servers(Attaching):
    # what a loaded server gives back to the kernel by itself meanwhile
    SLACK = 64 << 20

    def under_load(self, pid, client):
        """Attach for five seconds while four clients check every answer."""
        with servers.Load(client, 4) as load:
            servers.wait_for("first answers", 60, lambda: load.errors
                             or all(load.rounds))
            self.assertEqual([], load.errors)
            before = self.look(pid, self.SLACK)
            at_attach = list(load.rounds)
            log = self.attach(pid, "--duration", "5")
            at_detach = list(load.rounds)
            self.assert_untouched(pid, before)
            servers.wait_for("answers after it", 60, lambda: load.errors or all(
                now > then for now, then in zip(load.rounds, at_detach)))
        self.assertEqual([], load.errors)
        self.assertTrue(all(now > then for now, then
                            in zip(at_detach, at_attach)),
                        "a client got no answer while attached")
        self.assertEqual("duration", log.summary["end"])
        self.assertNotEqual([], log.accesses)
        return log

    @unittest.skipUnless(shutil.which("redis-server"), "no redis-server")
    def test_redis(self):
        with servers.redis(self.directory) as (process, path):
            self.under_load(process.pid,
                            functools.partial(servers.redis_client, path))
            with servers.redis_connection(path) as connection:
                self.assertEqual(
                    b"+PONG", servers.redis_answer(connection, b"PING"))
            self.assertIsNone(process.poll())

    @unittest.skipUnless(shutil.which("mariadbd"), "no mariadbd")
    def test_mariadb(self):
        with servers.mariadb(self.directory) as (process, path):
            log = self.under_load(
                process.pid, functools.partial(servers.mariadb_client, path))
            self.assertIsNone(process.poll())
            classes = {a["component"]["class"] for a in log.accesses
                       if a.get("component", {}).get("runtime") == "c++"
                       and a["component"].get("class")}
            self.assertGreater(len(classes), 0, classes)


if __name__ == "__main__":
    harness.main()
