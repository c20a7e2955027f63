#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What cannot work is told in one sentence, with the right exit status."""

import os
import struct
import sys
import time
import unittest

import harness
from harness import CLSATTACH, CLSRUN, Case, run, running, target, text

FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
          "--bounding-set=-all", "--"]
is_root = os.geteuid() == 0

PTRACE_SEIZE = 0x4206
SEIZER = """
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(%d, int(sys.argv[1]), None, None) == 0
print("seized", flush=True)
time.sleep(1000)
""" % PTRACE_SEIZE


def elf32(path):
    """A 32-bit program that waits for a signal: pause(), for ever."""
    code = bytes.fromhex("b81d000000" "cd80" "ebf7")
    base = 0x08048000
    header = struct.pack("<16sHHIIIIIHHHHHH",
                         b"\x7fELF\x01\x01\x01", 2, 3, 1, base + 84, 52, 0, 0,
                         52, 32, 1, 0, 0, 0)
    segment = struct.pack("<8I", 1, 0, base, base, 84 + len(code),
                          84 + len(code), 5, 0x1000)
    with open(path, "wb") as file:
        file.write(header + segment + code)
    os.chmod(path, 0o755)


def unused_pid():
    """One that was just given back, and will not be used again soon."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


class Bad(Case):
    def refused(self, argv, status, *words, **options):
        """@argv ends with @status and says one line, with @words in it."""
        result = run(argv, **options)
        err = text(result.err)
        self.assertEqual(status, result.status, err)
        self.assertEqual(b"", result.out)
        lines = err.splitlines()
        self.assertEqual(1, len(lines), err)
        self.assertRegex(lines[0], r"^cls(run|attach): \S")
        for word in words:
            self.assertIn(word, lines[0])
        return lines[0]

    def run_refused(self, status, words, *options, program=None):
        return self.refused(
            [CLSRUN, *options, "-o", self.path("log"), "--",
             program or target("counter")], status, *words)


class Run(Bad):
    def test_no_such_program(self):
        self.run_refused(NOT_FOUND, ["/no/such/program"], "-w", "0x1000+8",
                         program="/no/such/program")

    def test_not_in_path(self):
        self.run_refused(NOT_FOUND, ["no-such-program-anywhere"],
                         program="no-such-program-anywhere")

    def test_not_executable(self):
        path = self.path("plain")
        with open(path, "w"):
            pass
        self.run_refused(NOT_EXECUTABLE, [path], program=path)

    def test_directory(self):
        self.run_refused(NOT_EXECUTABLE, [self.directory],
                         program=self.directory)

    @unittest.skipUnless(is_root, "needs another user")
    def test_unreadable_program(self):
        path = self.path("secret")
        with open(target("counter"), "rb") as data, open(path, "wb") as file:
            file.write(data.read())
        os.chmod(path, 0o711)
        os.chmod(self.directory, 0o777)
        result = run([*NOBODY, CLSRUN, "-w", "counter", "-o",
                      self.path("log"), "--", path])
        if b"Permission denied" in result.err and result.status == 126 and (
                b"setpriv" in result.err):
            self.skipTest("another user cannot reach the build directory")
        self.assertIn(result.status, (FAILED, NOT_EXECUTABLE))
        self.assertEqual(1, len(result.err.splitlines()), text(result.err))
        self.assertIn(b"secret", result.err)

    def test_32_bit_program(self):
        path = self.path("small")
        elf32(path)
        self.run_refused(FAILED, ["32-bit"], "-w", "0x1000+8",
                         program=path)

    def test_no_such_symbol(self):
        self.run_refused(FAILED, ["countre", "counter"], "-w", "countre")

    def test_empty_watch(self):
        for spec in ("", "0x1000+0", "0x2000..0x1000"):
            with self.subTest(spec=spec):
                self.run_refused(FAILED, [], "-w", spec)

    def test_bad_address(self):
        for spec in ("0x1000+zz", "0xfffffffffffffff8+0x10", "map:nothing",
                     "0x10"):
            with self.subTest(spec=spec):
                self.run_refused(FAILED, [], "-w", spec)

    def test_unmapped_address(self):
        # The program never runs, not even for a moment.
        for _ in range(10):
            self.run_refused(FAILED, ["watch '0x1000+8'",
                                      "no memory at 0x1000", "/maps",
                                      "SYMBOL"], "-w", "0x1000+8")

    def test_address_without_length(self):
        self.run_refused(FAILED, ["watch '0x10'", "how many bytes",
                                  "0x10+8"], "-w", "0x10")

    def test_library_that_never_comes(self):
        """No error: it could have come.  But it is said where one looks."""
        argv = [CLSRUN, "-w", "nolib:x", "-o", self.new_log()]
        for quiet, says in ([], "clsrun: nothing that matches -w nolib:x"
                                " ever came\n"), (["-q"], ""):
            result = run([*argv, *quiet, "--", "true"])
            self.assertEqual((0, says), (result.status, text(result.err)))

    def test_stack_is_refused(self):
        self.run_refused(FAILED, ["map:stack", "--survive"],
                         "-w", "map:stack", "--survive")

    def test_unwritable_output(self):
        self.refused([CLSRUN, "-o", "/no/such/directory/log", "--",
                      target("counter")], FAILED, "/no/such/directory/log")

    def test_options(self):
        for options in (["--no-such-option"], ["--on", "sometimes"],
                        ["--sample=0"], ["--sample=x"], ["--max-events", "-1"],
                        ["--duration", "soon"], ["--every", "--first"],
                        ["--depth", "0"]):
            with self.subTest(options=options):
                self.run_refused(FAILED, [], *options)

    def test_no_program(self):
        self.refused([CLSRUN], FAILED)


class Attach(Bad):
    def test_no_such_process(self):
        pid = str(unused_pid())
        self.refused([CLSATTACH, "-p", pid], FAILED, pid)

    def test_not_a_number(self):
        for pid in ("x", "0", "-1", "99999999999999999999", ""):
            with self.subTest(pid=pid):
                self.refused([CLSATTACH, "-p", pid], FAILED)

    def test_empty_pid(self):
        line = self.refused([CLSATTACH, "-p", ""], FAILED, "-p", "empty",
                            "pgrep")
        self.assertNotIn("-p :", line)

    def test_two_processes(self):
        pid, other = str(unused_pid()), str(os.getpid())
        self.refused([CLSATTACH, "-p", pid, "-p", other], FAILED, pid, other,
                     "one clsattach for each")
        # the same one is taken once: what fails is to find it
        line = self.refused([CLSATTACH, "-p", pid, "-p", pid], FAILED, pid)
        self.assertNotIn("-p", line)

    def test_no_pid(self):
        self.refused([CLSATTACH, "-w", "counter"], FAILED, "-p")

    def test_itself(self):
        """As nobody else is, the tracer itself cannot be traced."""
        script = 'exec "$0" -p $$ -o "$1"'
        self.refused(["sh", "-c", script, CLSATTACH, self.path("log")],
                     FAILED)

    @unittest.skipUnless(is_root, "needs another user")
    def test_not_permitted(self):
        with running(["sleep", "1000"]) as sleep:
            result = run([*NOBODY, CLSATTACH, "-p", str(sleep.pid)])
            if b"setpriv" in result.err:
                self.skipTest("another user cannot reach the build directory")
            self.assertEqual(FAILED, result.status, text(result.err))
            self.assertEqual(1, len(result.err.splitlines()),
                             text(result.err))
            self.assertRegex(text(result.err), r"user|uid|root")

    @unittest.skipUnless(is_root, "needs another user")
    def test_samples_not_permitted(self):
        with open("/proc/sys/kernel/perf_event_paranoid",
                  encoding="ascii") as file:
            if int(file.read()) < 2:
                self.skipTest("everybody may use perf_event_open(2) here")
        result = run([*NOBODY, CLSRUN, "-F", "99", "--", "true"])
        if b"setpriv" in result.err:
            self.skipTest("another user cannot reach the build directory")
        self.assertEqual(FAILED, result.status, text(result.err))
        self.assertEqual(1, len(result.err.splitlines()), text(result.err))
        self.assertIn(b"perf_event_paranoid", result.err)

    def test_already_traced(self):
        with running(["sleep", "1000"]) as sleep, \
                running([sys.executable, "-c", SEIZER,
                         str(sleep.pid)]) as tracer:
            self.assertEqual(b"seized\n", tracer.stdout.readline())
            with open("/proc/%d/comm" % tracer.pid) as file:
                name = file.read().strip()
            self.refused([CLSATTACH, "-p", str(sleep.pid)], FAILED, name,
                         str(tracer.pid))

    def test_32_bit_process(self):
        path = self.path("small")
        elf32(path)
        try:
            context = running([path])
            with context as small:
                self.refused([CLSATTACH, "-p", str(small.pid)], FAILED,
                             "32-bit")
                self.assertIsNone(small.poll())
        except OSError as error:
            self.skipTest("the kernel runs no 32-bit programs: %s" % error)

    def test_no_such_symbol_leaves_it_alone(self):
        with running([target("hammer")]) as hammer:
            self.assertEqual(b"ready\n", hammer.stdout.readline())
            self.refused([CLSATTACH, "-w", "arenb", "-o", self.path("log"),
                          "-p", str(hammer.pid)], FAILED, "arenb", "arena")
            out, _ = hammer.communicate(b"", 30)
            self.assertEqual(b"right, interrupted 0\n", out)

    def test_unwritable_output(self):
        with running(["sleep", "1000"]) as sleep:
            self.refused([CLSATTACH, "-o", "/no/such/directory/log", "-p",
                          str(sleep.pid)], FAILED, "/no/such/directory/log")


if __name__ == "__main__":
    harness.main()
