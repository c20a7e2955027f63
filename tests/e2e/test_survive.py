#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program lives on, and does what it would have done, when clsattach is
killed at any moment, and with --survive when its tracer proper is.

    test_survive.py [--kills N] [WORD]...

Each test kills N times, 5 times if that is not given, 2 with CLS_BRIEF."""

import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import time
import unittest

import harness
import servers
from harness import CLSATTACH, CLSRUN, running, target, text
from test_attach import Attaching

KILLS = 2 if harness.BRIEF else 5
TRAPS = 20
PIECE = 1 << 20
SPELL = 0.03  # seconds from the last trap that is waited for to the kill


def log_has(path, word, count=1, end=False):
    """Does the log's beginning (or end), as it is by now, hold @word so
    often?  Run ahead it grows by some 100 MB a second."""
    try:
        with open(path, "rb") as file:
            if end:
                file.seek(max(os.path.getsize(path) - PIECE, 0))
            return file.read(PIECE).count(word) >= count
    except FileNotFoundError:
        return False


def end_of(path):
    with open(path, "rb") as file:
        file.seek(max(os.path.getsize(path) - PIECE, 0))
        return file.read(PIECE)


def armed(path):
    return log_has(path, b'"type":"armed"')


def wait_for_traps(path, count):
    servers.wait_for("%d traps" % count, 60, lambda: log_has(
        path, b'"type":"access"', count))


def tracer_of(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(re.search(r"^TracerPid:\t(\d+)$", file.read(), re.M)[1])


class Killing(Attaching):
    def begin(self, process):
        self.assertEqual(b"ready\n", process.stdout.readline())

    def go(self, process, path, tracer):
        """The program works, and was seen to, if it did not end before."""
        process.stdin.write(b"x")
        process.stdin.flush()
        servers.wait_for("%d traps" % TRAPS, 60, lambda: log_has(
            path, b'"type":"access"', TRAPS) or tracer.poll() is not None)

    def kill(self, process, tracer):
        tracer.kill()
        tracer.wait()

    def kill_once(self, argv, options, spell):
        """One program, one tracer, one kill: how the program ended; None if
        that was before the kill."""
        path = self.new_log()
        with running(argv) as process:
            self.begin(process)
            with running([CLSATTACH, "-o", path, *options, "-p",
                          str(process.pid)]) as tracer:
                servers.wait_for("armed", 20, lambda: armed(path))
                self.go(process, path, tracer)
                time.sleep(random.random() * spell)
                early = tracer.poll() is not None
                if not early:
                    self.kill(process, tracer)
            out, err = process.communicate(b"", harness.TIMEOUT)
            if early:
                return None
            self.look_at(path)
            os.unlink(path)
            return process.returncode, text(out) + text(err)

    def look_at(self, path):
        pass

    def kill_many(self, argv, options=(), out="right\n", spell=SPELL):
        ends = {}
        early = 0
        while sum(ends.values()) < KILLS and early <= KILLS:
            end = self.kill_once(argv, options, spell)
            if end:
                ends[end] = ends.get(end, 0) + 1
            else:
                early += 1
        print("# killed %d times: %s; %d ended before" % (
            sum(ends.values()), ends, early), flush=True)
        self.assertEqual({(0, out): KILLS}, ends)

    def survive(self, mode, threads, rounds, *options):
        self.kill_many([target("survive"), mode, str(threads), str(rounds)],
                       ["-w", "arena", "--every", *options])


class Killed(Killing):
    """What is killed is the process that was started as clsattach."""

    def test_one_thread(self):
        self.survive("plain", 1, 1000000, "--no-run-ahead")

    def test_four_threads(self):
        self.survive("plain", 4, 300000, "--no-run-ahead")

    def test_own_handler(self):
        self.survive("handler", 1, 1000000)

    def test_own_handler_four_threads(self):
        self.survive("handler", 4, 300000)

    def test_blocked(self):
        self.survive("blocked", 1, 2000000)

    def test_blocked_four_threads(self):
        self.survive("blocked", 4, 300000)

    def test_in_a_call(self):
        self.survive("read", 1, 50000)

    def test_in_a_call_four_threads(self):
        self.survive("read", 4, 20000)


class RunAhead(Killing):
    def look_at(self, path):
        self.assertTrue(log_has(path, b'"how":"run_ahead"'))

    def test_one_thread(self):
        self.survive("plain", 1, 2000000)

    def test_four_threads(self):
        self.survive("plain", 4, 300000)


JAVA = """
import java.util.*;

public class Survive {
    static long part(int me) {
        HashMap<Integer, long[]> map = new HashMap<>();
        for (int i = 0; i < 1500000; i++) {
            long[] cell = map.computeIfAbsent(i % 5000, k -> new long[4]);
            cell[i & 3] += (long) i * (me + 1);
            if (i % 1000 == 0)
                map.remove(i % 5000);
        }
        long sum = 0;
        for (long[] cell : map.values())
            sum = sum * 31 + Arrays.hashCode(cell);
        return sum;
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        System.in.read();
        long[] sums = new long[4];
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            int me = i;
            threads[i] = new Thread(() -> sums[me] = part(me));
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
        String text = null;
        try {
            text.length();
        } catch (NullPointerException e) {
            System.out.println(Arrays.toString(sums));
        }
    }
}
"""

PYTHON = """
import hashlib, sys, threading
print("ready", flush=True)
sys.stdin.read(1)

def part(me, sums):
    cells, digest = {}, hashlib.sha256()
    for i in range(400000):
        cells[i % 977] = cells.get(i % 977, 0) + i * (me + 1)
        if i % 100 == 0:
            digest.update(repr(sorted(cells.items())[:9]).encode())
    sums[me] = digest.hexdigest()

sums = [None] * 2
threads = [threading.Thread(target=part, args=(i, sums)) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sums)
"""


class Interpreters(Killing):
    """All of their memory, as it is watched by default; killed at any moment
    of the run, that of coming in included."""

    OPTIONS = ["--sample=20"]

    def go(self, process, path, tracer):
        """It works before somebody comes."""

    def begin(self, process):
        super().begin(process)
        process.stdin.write(b"x")
        process.stdin.flush()

    def once(self, argv, options, moment):
        """How it ended, in what time, and whether it had met traps when
        clsattach was killed; that is None if it ended first."""
        path = self.new_log()
        with running(argv) as process:
            self.begin(process)
            start = time.monotonic()
            with running([CLSATTACH, "-o", path, *options, "-p",
                          str(process.pid)]) as tracer:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(moment)
                trapped = None
                if process.returncode is None:
                    trapped = log_has(path, b'"type":"access"')
                    self.kill(process, tracer)
                out, err = process.communicate(b"", harness.TIMEOUT)
                taken = time.monotonic() - start
        if os.path.exists(path):
            os.unlink(path)
        return (process.returncode, text(out) + text(err)), taken, trapped

    def kill_any_time(self, argv):
        bare = harness.run(argv, b"x")
        out = text(bare.out).partition("ready\n")[2]
        right = (0, out)
        self.assertEqual(0, bare.status, text(bare.err))
        end, length, _ = self.once(argv, self.OPTIONS, harness.TIMEOUT)
        self.assertEqual(right, end)
        ends, trapped, early = {}, [], 0
        while len(trapped) < KILLS and early <= KILLS:
            end, _, seen = self.once(argv, self.OPTIONS, random.random() * length)
            ends[end] = ends.get(end, 0) + 1
            early += seen is None
            trapped += [seen] if seen is not None else []
        print("# killed %d times, in %.2f s, %d of them with traps behind it: "
              "%s; %d ended before" % (len(trapped), length, sum(trapped),
                                       ends, early), flush=True)
        self.assertEqual([right], list(ends))
        self.assertEqual(KILLS, len(trapped))

    def test_python(self):
        self.kill_any_time([sys.executable, "-c", PYTHON])

    @unittest.skipUnless(shutil.which("javac"), "no javac")
    def test_java(self):
        source = self.path("Survive.java")
        with open(source, "w") as file:
            file.write(JAVA)
        harness.run(["javac", source])
        self.kill_any_time(["java", "-cp", self.directory, "Survive"])


class KillingTracer(Killing):
    """What is killed is the tracer proper, and --survive was given."""

    def kill(self, process, tracer):
        os.kill(tracer_of(process.pid), 9)
        _, err = tracer.communicate(timeout=20)
        self.assertIn("tracer was killed", text(err))


class TracerKilled(KillingTracer):
    def test_one_thread(self):
        self.survive("plain", 1, 1000000, "--survive")

    def test_four_threads(self):
        self.survive("plain", 4, 300000, "--survive")

    def test_own_handler(self):
        self.survive("handler", 1, 1000000, "--survive")

    def test_own_handler_four_threads(self):
        self.survive("handler", 4, 300000, "--survive")

    def test_blocked(self):
        self.survive("blocked", 1, 2000000, "--survive")

    def test_works_for_us(self):
        self.survive("protect", 1, 200000, "--survive")


class InterpretersAlone(Interpreters):
    """Of these the tracer proper is killed.  Java dies in some of a hundred:
    a thread is born with all signals blocked."""

    test_java = None

    OPTIONS = ["--sample=20", "--survive"]

    def kill(self, process, tracer):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            number = tracer_of(process.pid)
            if number:
                os.kill(number, 9)
        tracer.wait()


class InHandler(KillingTracer):
    def test_leaves_it(self):
        """What a thread blocks in its handler it does not block after it."""
        path = self.new_log()
        with running([target("survive"), "lingers", "1", "1000"]) as process:
            self.begin(process)
            with running([CLSATTACH, "-o", path, "-w", "arena", "--every",
                          "--survive", "-p", str(process.pid)]) as tracer:
                servers.wait_for("armed", 20, lambda: armed(path))
                process.stdin.write(b"x")
                process.stdin.flush()
                self.assertEqual(b"handles\n", process.stdout.readline())
                servers.wait_for("an access", 20, lambda: log_has(
                    path, b'"type":"access"', 1))
                self.kill(process, tracer)
            out, err = process.communicate(b"x", harness.TIMEOUT)
        self.assertEqual((0, "right\n"),
                         (process.returncode, text(out)), text(err))


class Followed(Attaching):
    def test_each_process(self):
        """clsrun -f is killed: all that it traced live on."""
        path = self.new_log()
        with running([CLSRUN, "--survive", "-f", "-q", "-w", "counter",
                      "--every", "-o", path, "--", target("brood")],
                     stderr=subprocess.STDOUT) as tracer:
            self.assertEqual(b"ready\n", tracer.stdout.readline())
            time.sleep(0.5)
            tracer.kill()
            # its end closes the pipe when the last of them has ended
            self.assertEqual(b"3, 150\n", tracer.stdout.read())


class AllAtWork(KillingTracer):
    """A call that blocks SIGSEGV, and has not come to its end when the tracer
    is killed, is not survived: it lies behind each thread."""

    def go(self, process, path, tracer):
        super().go(process, path, tracer)
        servers.wait_for("four threads", 60, lambda: len(set(re.findall(
            rb'"tid":(\d+)', end_of(path)))) == 4)

    def test_blocked_four_threads(self):
        self.survive("masked", 4, 300000, "--survive")


class Lifted(Attaching):
    """While SIGSEGV is unblocked for us the program sees no difference."""

    def test_lifted(self):
        runs = [("blocked",), ("ignored",), ("sigwait",), ("poll",),
                ("segv_action",), ("handler_longjmp",), ("vfork_exec",),
                *(("pending", "SEGV", how)
                  for how in ("thread", "process", "both", "queue",
                              "thread_queue"))]
        for name, *how in runs:
            with open(os.path.join(harness.TARGETS, name + ".c")) as file:
                watches = re.findall(r"^/\* watch: (.*?) \*/", file.read(),
                                     re.M)
            argv = [target(name), *how]
            options = [part for watch in watches for part in ("-w", watch)]
            bare = harness.run(argv)
            result = harness.run([CLSRUN, "--survive", "--every", *options, "-o",
                                  self.new_log(), "--", *argv])
            self.assertEqual((bare.status, bare.out, bare.err),
                             (result.status, result.out, result.err), name)
        print("# %d programs" % len(runs))


class Warden(Killing):
    """The process that is clsattach to people, and the one that traces."""

    def attached(self, process, path, *options):
        return running([CLSATTACH, "-w", "arena", "--every", "-o", path,
                        *options, "-p", str(process.pid)])

    @contextlib.contextmanager
    def working(self):
        with running([target("survive"), "plain", "1",
                      "1000000000"]) as process:
            self.begin(process)
            yield process

    def test_leaves_nothing(self):
        """The log is whole, and the program as it was."""
        path = self.new_log()
        with self.working() as process:
            before = self.look(process.pid)
            with self.attached(process, path) as tracer:
                servers.wait_for("armed", 20, lambda: armed(path))
                self.go(process, path, tracer)
                tracer.kill()
                servers.wait_for("the end", 20, lambda: log_has(
                    path, b'"type":"summary"', end=True))
                servers.wait_for("freedom", 20,
                                 lambda: not tracer_of(process.pid))
            self.assert_untouched(process.pid, before)
            self.assertEqual("interrupted", self.read_log(path).summary["end"])
            process.terminate()
            self.assertEqual(b"right\n", process.communicate()[0])

    def test_kill_on_exit(self):
        path = self.new_log()
        with self.working() as process:
            with self.attached(process, path, "--kill-on-exit") as tracer:
                servers.wait_for("armed", 20, lambda: armed(path))
                tracer.kill()
                self.assertEqual(-9, process.wait(20))

    def test_kills_meant_for_it(self):
        """Neither by group, nor by name, nor for memory goes the tracer."""
        path = self.new_log()
        with self.working() as process:
            with self.attached(process, path) as tracer:
                servers.wait_for("armed", 20, lambda: armed(path))
                proper = tracer_of(process.pid)
                self.assertNotEqual(tracer.pid, proper)
                self.assertNotEqual(os.getsid(tracer.pid), os.getsid(proper))
                with open("/proc/%d/comm" % proper) as file:
                    self.assertNotIn("clsattach", file.read())
                score = {}
                for pid in (tracer.pid, proper):
                    with open("/proc/%d/oom_score_adj" % pid) as file:
                        score[pid] = int(file.read())
                self.assertEqual(1000, score[tracer.pid])
                self.assertLess(score[proper], 1000)
                os.killpg(tracer.pid, 9)
                servers.wait_for("freedom", 20,
                                 lambda: not tracer_of(process.pid))
            self.assertIsNone(process.poll())

    def test_a_full_disk(self):
        with self.working() as process:
            before = self.look(process.pid)
            with self.attached(process, "/dev/full") as tracer:
                process.stdin.write(b"x")
                process.stdin.flush()
                _, err = tracer.communicate(timeout=20)
                self.assertEqual(125, tracer.returncode)
                self.assertIn("No space", text(err))
            self.assert_untouched(process.pid, before)

    def test_a_closed_pipe(self):
        with self.working() as process:
            before = self.look(process.pid)
            with running([CLSATTACH, "-w", "arena", "--every", "-p",
                          str(process.pid)]) as tracer:
                self.assertIn(b"header", tracer.stdout.readline())
                tracer.stdout.close()
                process.stdin.write(b"x")
                process.stdin.flush()
                tracer.wait(20)
            self.assert_untouched(process.pid, before)


def differs(expected, got):
    """The first line that does, of both; None: they are the same."""
    lines = zip(expected.split(b"\n"), got.split(b"\n"))
    return None if expected == got else next(
        (pair for pair in lines if pair[0] != pair[1]), "the end")


class Pending(Attaching):
    """A SIGSEGV that the program sent itself, and blocks, waits while we come,
    close pages, and go again, ten times for each kill."""

    OPTIONS = []

    def detach(self, how):
        argv = [target("pending"), "SEGV", how, "400"]
        bare = harness.run(argv).out
        path, count, ends = self.new_log(), 0, {}
        while count < 10 * KILLS:
            with running(argv) as process:
                while process.poll() is None:
                    harness.run([CLSATTACH, "-w", "array", "--every", "-o", path,
                                 "--duration=30ms", *self.OPTIONS, "-p",
                                 str(process.pid)])
                    count += log_has(path, b'"end":"duration"', end=True)
                    if os.path.exists(path):
                        os.unlink(path)
                out = process.communicate(b"", harness.TIMEOUT)[0]
            end = (process.returncode, differs(bare, out))
            ends[end] = ends.get(end, 0) + 1
        print("# left %d times: %s" % (count, ends), flush=True)
        self.assertEqual([(0, None)], list(ends))

    def test_thread(self):
        self.detach("thread")

    def test_process(self):
        self.detach("process")

    def test_both(self):
        self.detach("both")

    def test_queue(self):
        self.detach("queue")

    def test_thread_queue(self):
        self.detach("thread_queue")


class PendingLifted(Pending):
    """Likewise, while the block is lifted but where one waits."""

    OPTIONS = ["--survive"]


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


def main():
    global KILLS
    words = sys.argv[1:]
    if words[:1] == ["--kills"]:
        KILLS = int(words[1])
        words = words[2:]
    harness.main(words)


if __name__ == "__main__":
    main()
