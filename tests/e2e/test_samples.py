#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""-F: the stacks of all threads, by the clock."""

import collections
import os
import re
import resource
import signal
import subprocess
import sys
import time

import harness
import servers
from harness import CLSATTACH, CLSRUN, Case, running, target

HZ = 50
MOST = 1000
WRITER = """
import os, sys
block = bytes(1 << 20)
sizes = []
os.write(1, b"ready\\n")
try:
    while True:
        sizes.append(os.write(1, block))
except BrokenPipeError:
    pass
# the one before: its reader was gone
short = [size for size in sizes[:-1] if size != len(block)]
sys.stderr.write("%d short\\n" % len(short))
"""
WAITERS = 40
WAITER = """
import ctypes, os, select, threading
libc = ctypes.CDLL(None)
broken = []
def wait():
    epoll, events = select.epoll(), ctypes.create_string_buffer(64)
    if libc.epoll_wait(epoll.fileno(), events, 1, 100000) < 0:
        broken.append(1)
for i in range(%d):
    threading.Thread(target=wait).start()
os.write(1, b"ready\\n")
os.read(0, 1)
os.write(1, b"%%d broken\\n" %% len(broken))
os._exit(0)
""" % WAITERS
BUSY = """
import time
while time.process_time() < 0.5:
    pass
"""
RAISER = """
import os, signal, sys, time
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
child = os.fork()
for i in range(100):
    signal.raise_signal(signal.SIGUSR1)
    time.sleep(0.01)
if not child:
    os._exit(len(got))
sys.exit(len(got) + os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def ours(frames):
    """Function and place of each frame.  Of one function's names in a library
    gdb may choose another one: only that of our target counts."""
    places = []
    for frame in frames:
        base = os.path.basename(frame.get("file", ""))
        places.append((frame.get("function") if base == "sampled.c" else None,
                       base, frame.get("line")))
    return places


def by_gdb(pid):
    """The same of each sleeping thread, as gdb tells it."""
    out = subprocess.run(
        ["gdb", "-nx", "-batch", "-p", str(pid), "-ex",
         "thread apply all bt"], stdout=subprocess.PIPE, check=True,
        stderr=subprocess.DEVNULL, timeout=harness.TIMEOUT).stdout.decode()
    stacks = {}
    for part in out.split("\nThread ")[1:]:
        tid = int(re.search(r"LWP (\d+)", part).group(1))
        stacks[tid] = [
            (name if base == "sampled.c" else None, base,
             int(line) if line else None)
            for name, base, line in re.findall(
                r"^#\d+ +(?:0x\w+ in )?(\S+) \(.*?\)(?: from \S+)?"
                r"(?: at (?:\S*/)?(\S+):(\d+))?$", part, re.MULTILINE)]
    return stacks


OPENAT = "257"


def waits(pid):
    """Has it a child that opens a pipe, and waits for who reads it?"""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        child = file.read().strip()
    if not child:
        return False
    with open("/proc/%s/syscall" % child) as file:
        return file.read().split()[0] == OPENAT


def count_in(path):
    if not os.path.exists(path):
        return 0
    with open(path, "rb") as file:
        return file.read().count(b'"type":"sample"')


class Samples(Case):
    def sampled(self, *options, most=MOST, how=()):
        """The log of that many samples, and what gdb makes of the stacks."""
        path = self.new_log()
        with running([target("sampled"), *how]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            with running([CLSATTACH, "-F", str(HZ), "-o", path, *options, "-p",
                          str(process.pid)]) as tracer:
                servers.wait_for("samples", 60, lambda: tracer.poll() is not None
                                 or count_in(path) >= most)
                tracer.send_signal(signal.SIGINT)
                err = tracer.communicate(b"", harness.TIMEOUT)[1]
                self.assertEqual(0, tracer.returncode, err)
            self.gdb = by_gdb(process.pid)
            process.communicate(b"", harness.TIMEOUT)
            self.assertEqual(0, process.returncode)
        log = self.read_log(path)
        samples = log.of("sample")
        self.assertEqual(len(samples), log.summary["samples"])
        return log, samples

    def test_all_threads(self):
        """Each is met about as often as was asked for, and stays alive."""
        log, samples = self.sampled()
        self.assertEqual([], log.accesses)
        counts = collections.Counter(s["tid"] for s in samples)
        self.assertEqual(12, len(counts))
        self.assertGreater(min(counts.values()), 5)
        passed = float(samples[-1]["time"]) - float(samples[0]["time"])
        self.assertLess(max(counts.values()), HZ * passed * 1.2 + 2)
        running_ones = [s for s in samples if s["state"] == "running"]
        self.assertTrue(running_ones)
        for sample in running_ones:
            names = [f.get("function") for f in sample["stack"]]
            self.assertIn("worker", names)

    def test_stopped(self):
        """A program that ^Z stopped neither runs nor sleeps."""
        path = self.new_log()
        with running([target("sampled")]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            with running([CLSATTACH, "-F", str(HZ), "-o", path, "-p",
                          str(process.pid)]) as tracer:
                servers.wait_for("samples", 60, lambda: count_in(path) > 100)
                process.send_signal(signal.SIGSTOP)
                servers.wait_for("its stop", 60, lambda: set(
                    harness.thread_states(process.pid).values()) <= set("tT"))
                time.sleep(0.3)
                count = count_in(path)
                time.sleep(0.5)
                self.assertEqual(count, count_in(path))
                process.send_signal(signal.SIGCONT)
                servers.wait_for("more", 60,
                                 lambda: count_in(path) > count + 100)
                tracer.send_signal(signal.SIGINT)
                self.assertEqual(0, tracer.wait(harness.TIMEOUT))
            process.communicate(b"", harness.TIMEOUT)
            self.assertEqual(0, process.returncode)
        self.read_log(path)

    def test_the_same_as_gdb(self):
        """Fifty stacks, function by function and line by line."""
        samples = self.sampled("--verify-stacks")[1]
        sleeping = [s for s in samples if s["state"] == "sleeping"
                    and "descend" in str(s["stack"])][:50]
        self.assertEqual(50, len(sleeping))
        self.assertGreater(len({len(s["stack"]) for s in sleeping}), 5)
        for sample in sleeping:
            self.assertEqual(self.gdb[sample["tid"]], ours(sample["stack"]))

    def test_a_write_is_whole(self):
        """One that copies a megabyte into a pipe is never cut short."""
        with running([sys.executable, "-S", "-c", WRITER]) as process:
            out = process.stdout.fileno()
            self.assertEqual(b"ready\n", os.read(out, 6))
            path = self.new_log()
            with running([CLSATTACH, "-F", "1000", "-o", path, "-p",
                          str(process.pid)]) as tracer:
                while count_in(path) < MOST:
                    os.read(out, 1 << 16)
                tracer.send_signal(signal.SIGINT)
                while tracer.poll() is None:
                    os.read(out, 1 << 16)
                self.assertEqual(0, tracer.returncode)
            for _ in range(100):
                os.read(out, 1 << 16)
            process.stdout.close()
            self.assertEqual(b"0 short\n", process.stderr.read())
        self.read_log(path)

    def test_left_at_once(self):
        """No call ends with EINTR, though it was made to sleep anew."""
        for delay in (0, 0.005, 0.01, 0.02):
            path = self.new_log()
            with running([sys.executable, "-S", "-c", WAITER]) as process:
                self.assertEqual(b"ready\n", process.stdout.readline())
                with running([CLSATTACH, "-F", "100", "-o", path, "-p",
                              str(process.pid)]) as tracer:
                    servers.wait_for("header", 60,
                                     lambda: os.path.exists(path)
                                     and os.path.getsize(path))
                    time.sleep(delay)
                    tracer.send_signal(signal.SIGINT)
                    err = tracer.communicate(b"", harness.TIMEOUT)[1]
                    self.assertEqual(0, tracer.returncode, err)
                out = process.communicate(b"x", harness.TIMEOUT)[0]
                self.assertEqual(b"0 broken\n", out)
            self.read_log(path)

    def test_left_before_the_entry(self):
        """It may be let go while the loader of the next program runs."""
        for i in range(10):
            path = self.new_log()
            with running([sys.executable, "-S", "-c", harness.AGAIN, "40"],
                         env=dict(os.environ, AGAIN=harness.AGAIN)) as process:
                with running([CLSATTACH, "-F", "100", "--duration",
                              "%dms" % (20 + 3 * i), "-o", path, "-p",
                              str(process.pid)]) as tracer:
                    tracer.wait(harness.TIMEOUT)
                process.communicate(b"", harness.TIMEOUT)
                self.assertEqual(7, process.returncode)

    def test_signals_of_a_child(self):
        """Of one that clsrun follows none is lost when the time is over."""
        path = self.new_log()
        run = subprocess.run(
            [CLSRUN, "-f", "-F", "50", "--duration", "300ms", "-o", path, "--",
             sys.executable, "-S", "-c", RAISER], timeout=harness.TIMEOUT,
            check=False)
        self.assertEqual(200, run.returncode)
        self.read_log(path)

    def test_at_the_end_of_a_function(self):
        """Registers that are popped already are not looked for."""
        samples = self.sampled("--verify-stacks")[1]
        for sample in samples:
            if sample["state"] == "running":
                self.assertNotIn("stack_end", sample, sample)
                self.assertEqual("worker", [
                    f["function"] for f in sample["stack"]
                    if f.get("file", "").endswith("sampled.c")][-1])

    def test_on_an_alternate_stack(self):
        """Only the stack that is in use was kept: of the other it is told."""
        samples = self.sampled(how=["alternate"])[1]
        ends = collections.Counter(
            (s["stack"][-1].get("function"), s.get("stack_end"))
            for s in samples if s["state"] == "running")
        self.assertEqual({("truncated")}, {end for _, end in ends}, ends)
        self.assertIn("handler", str(samples))

    def test_most_samples(self):
        """They count as events do, and no more are told."""
        path = self.new_log()
        with running([target("sampled")]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            result = harness.run([CLSATTACH, "-F", "50", "--max-events", "30",
                                  "-o", path, "-p", str(process.pid)])
            self.assertEqual(0, result.status, result.err)
        log = self.read_log(path)
        self.assertEqual(30, len(log.of("sample")))
        self.assertEqual("max-events", log.summary["end"])

    def test_interrupted_at_the_beginning(self):
        """Before anybody reads the log, too, the tracer says what was wrong."""
        path = self.new_log()
        os.mkfifo(path)
        with running([target("sampled")]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            with running([CLSATTACH, "-F", "50", "-o", path, "-p",
                          str(process.pid)]) as tracer:
                servers.wait_for("open(2)", 30, lambda: waits(tracer.pid))
                tracer.send_signal(signal.SIGINT)
                err = tracer.communicate(b"", harness.TIMEOUT)[1]
            self.assertIn(b"Interrupted system call", err)
            self.assertEqual(125, tracer.returncode)

    def test_from_the_start_to_the_end(self):
        """The libraries are known, and the last samples are not dropped."""
        log = self.traced([sys.executable, "-S", "-c", BUSY], "-F", "10")[1]
        samples = log.of("sample")
        last = [s for s in samples if s["state"] == "running"][-1]
        self.assertNotIn("stack_end", last)
        self.assertEqual("_start", last["stack"][-1]["function"])
        self.assertGreaterEqual(len(samples) + log.summary["unsampled"], 4)

    def test_threads_that_are_refused(self):
        """A warning tells of them, and the count."""
        path = self.new_log()
        with running([target("sampled")]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            limit = (32, 32)
            with running(
                    [CLSATTACH, "-F", "50", "--duration", "1s", "-o", path,
                     "-p", str(process.pid)],
                    preexec_fn=lambda: resource.setrlimit(
                        resource.RLIMIT_NOFILE, limit)) as tracer:
                err = tracer.communicate(b"", harness.TIMEOUT)[1]
                self.assertEqual(0, tracer.returncode, err)
            process.communicate(b"", harness.TIMEOUT)
            self.assertEqual(0, process.returncode)
        log = self.read_log(path)
        self.assertIn("Too many open files", str(log.of("warning")))
        self.assertEqual(1, len(log.of("warning")))
        self.assertGreater(log.summary["unsampled"], 0)

    def test_beside_a_watch(self):
        """Accesses and samples in one log, each stack once."""
        log, samples = self.sampled("-w", "done", "--stacks=id",
                                    "--max-events", "100000")
        self.assertTrue(log.accesses)
        known = {s["id"] for s in log.of("stack")}
        for record in samples + log.accesses:
            self.assertIn(record["stack_id"], known)


if __name__ == "__main__":
    harness.main()
