# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: running programs bare and traced, reading
and validating logs, looking at a process from outside, and TAP output.

The build directory is $CLS_BUILD, with cmd/ and tests/targets/ in it.  No
process outlives its test: all are ended by their own id.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TARGETS = os.path.join(HERE, os.pardir, "targets")
BUILD = os.environ.get("CLS_BUILD", "")
# With sanitizers a test looks for errors of memory: once is as good as often.
BRIEF = bool(os.environ.get("CLS_BRIEF"))
CLSRUN = os.path.join(BUILD, "cmd", "clsrun")
CLSATTACH = os.path.join(BUILD, "cmd", "clsattach")
TIMEOUT = float(os.environ.get("CLS_TIMEOUT", "120"))

sys.path.insert(0, os.path.join(HERE, os.pardir))
import validate  # noqa: E402 (it lies beside this directory)

# Checking one record against the schema takes a millisecond: of a longer log
# only so many records are, evenly; the other rules are checked for each line.
SCHEMA_RECORDS = 2000

# Executes itself anew, so often as its argument says, and ends with 7.
AGAIN = """
import os, sys
left = int(sys.argv[1])
if not left:
    sys.exit(7)
os.execv(sys.executable, [sys.executable, "-S", "-c", os.environ["AGAIN"],
                          str(left - 1)])
"""


def target(name):
    """The path of a program of tests/targets."""
    return os.path.join(BUILD, "tests", "targets", name)


class Result:
    """How a program ended: status as subprocess has it (-N: by signal N)."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def end(process):
    """Kill a process and all in its session, and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.communicate()


@contextlib.contextmanager
def running(argv, **options):
    """A program that runs beside the test, and ends with it at the latest."""
    process = subprocess.Popen(
        argv, start_new_session=True,
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
           "stderr": subprocess.PIPE, **options})
    try:
        yield process
    finally:
        end(process)


def run(argv, stdin=b"", timeout=TIMEOUT, **options):
    """Run a program to its end."""
    with running(argv, **options) as process:
        try:
            out, err = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s did not end in %d s; threads:\n%s" % (
                argv, timeout, states_text(process.pid))) from None
        return Result(process.returncode, out, err)


def states_text(leader):
    """What all processes of a session are doing, for a person."""
    lines = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.getsid(int(pid)) != leader:
                continue
            for tid, state in thread_states(int(pid)).items():
                with open("/proc/%d/task/%d/syscall" % (int(pid), tid)) as f:
                    call = f.read().split(" ")[0].strip()
                with open("/proc/%d/comm" % tid) as f:
                    comm = f.read().strip()
                lines.append("  %s %s %s: %s, syscall %s" % (
                    pid, tid, comm, state, call))
    return "\n".join(lines)


class Log:
    """A log that was read, parsed and validated."""

    def __init__(self, path):
        with open(path, "rb") as file:
            lines = file.readlines()
        self.lines = lines
        self.faults = list(faults(lines))[:20]
        self.records = [] if self.faults else [json.loads(x) for x in lines]
        stacks = {r["id"]: r for r in self.of("stack")}
        for record in self.records:
            if "stack_id" in record:  # as if it stood in it
                stack = stacks[record["stack_id"]]
                record.update((k, stack[k]) for k in ("stack", "stack_end")
                              if k in stack)

    def of(self, kind):
        return [r for r in self.records if r["type"] == kind]

    @property
    def accesses(self):
        return self.of("access")

    @property
    def summary(self):
        return self.records[-1]


def faults(lines):
    """As validate.faults(), with the schema for a share of a long log."""
    if len(lines) <= SCHEMA_RECORDS:
        yield from validate.faults(lines)
        return
    step = len(lines) // SCHEMA_RECORDS + 1
    every = validate.record_faults

    def picked(number):
        return (number % step == 0 or number < 100
                or number > len(lines) - 100)

    counter = iter(range(len(lines)))
    validate.record_faults = lambda record: (
        every(record) if picked(next(counter)) else ())
    try:
        yield from validate.faults(lines)
    finally:
        validate.record_faults = every


class Case(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="cls-e2e-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.logs = 0

    def path(self, name):
        return os.path.join(self.directory, name)

    def new_log(self):
        self.logs += 1
        return self.path("log%d" % self.logs)

    def read_log(self, path, err=b""):
        """The log at @path, every rule of it kept."""
        self.assertTrue(os.path.exists(path), "no log; " + text(err))
        log = Log(path)
        self.assertEqual([], log.faults, text(err))
        return log

    def traced(self, argv, *options, **more):
        """Run @argv under clsrun: its result and its log."""
        path = self.new_log()
        result = run([CLSRUN, *options, "-o", path, "--", *argv], **more)
        return result, self.read_log(path, b"status %d; %s" % (
            result.status, result.err))

    def attach(self, pid, *options, **more):
        """clsattach to @pid until it ends by itself: its log."""
        path = self.new_log()
        result = run([CLSATTACH, *options, "-o", path, "-p", str(pid)], **more)
        self.assertEqual(0, result.status, text(result.err))
        return self.read_log(path, result.err)


def text(data):
    return data.decode("utf-8", "backslashreplace")


def number(value):
    """A value of a log as a number."""
    return int(value, 16)


# What a target says of itself, in the comments at its head.

def declared(name):
    """Options for clsrun, and the argument lists, of the target @name."""
    for suffix in (".c", ".cc"):
        path = os.path.join(TARGETS, name + suffix)
        if os.path.exists(path):
            break
    with open(path, encoding="utf-8") as file:
        head = file.read()

    def said(key):
        return re.findall(r"^/\* %s: (.*) \*/$" % key, head, re.M)

    options = [word for spec in said("watch") for word in ("-w", spec)]
    options += [word for line in said("options") for word in line.split()]
    return options, [line.split() for line in said("args")] or [[]]


def all_targets():
    """The names of all targets that tell what to watch."""
    for file in sorted(os.listdir(TARGETS)):
        name, suffix = os.path.splitext(file)
        if suffix not in (".c", ".cc"):
            continue
        with open(os.path.join(TARGETS, file), encoding="utf-8") as source:
            if "\n/* watch: " in source.read():
                yield name


# A process seen from outside.

def thread_states(pid):
    """The state letter of each thread."""
    states = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError):
            with open("/proc/%d/task/%s/stat" % (pid, tid)) as file:
                states[int(tid)] = file.read().rpartition(")")[2].split()[0]
    return states


def signals(pid):
    """Masks and dispositions, by thread and key."""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError):
            with open("/proc/%d/task/%s/status" % (pid, tid)) as file:
                for key, value in re.findall(
                        r"^(Sig(?:Blk|Ign|Cgt)):\s*(\w+)$", file.read(), re.M):
                    found[int(tid), key] = value
    return found


def mappings(pid):
    """[start, end, rights, path], neighbours that are alike joined: guarding
    splits mappings and undoing it need not join them at once."""
    joined = []
    with open("/proc/%d/maps" % pid, errors="surrogateescape") as file:
        for line in file:
            fields = line.rstrip("\n").split(None, 5)
            start, _, stop = fields[0].partition("-")
            path = fields[5] if len(fields) > 5 else ""
            this = [int(start, 16), int(stop, 16), fields[1], path]
            if joined and joined[-1][1:] == [this[0], *this[2:]]:
                joined[-1][1] = this[1]
            else:
                joined.append(this)
    return joined


def fixed_mappings(pid):
    """Those that a running program does not change by itself: of files."""
    return [m for m in mappings(pid) if m[3].startswith("/")]


def writable_bytes(pid):
    """How much memory of no file may be written."""
    return sum(m[1] - m[0] for m in mappings(pid)
               if m[2].startswith("rw") and not m[3].startswith("/"))


# TAP

class _Tap(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0
        self.bad = 0

    def _line(self, word, test, more=""):
        self.number += 1
        print("%s %d - %s%s" % (word, self.number, test.id().partition(".")[2],
                                more), flush=True)

    def addSuccess(self, test):
        self._line("ok", test)

    def addSkip(self, test, reason):
        self._line("ok", test, " # SKIP " + reason)

    def _bad(self, test, err):
        self.bad += 1
        self._line("not ok", test)
        for line in "".join(traceback.format_exception(*err)).splitlines():
            print("# " + line.encode("ascii", "backslashreplace").decode())
        sys.stdout.flush()

    def addFailure(self, test, err):
        self._bad(test, err)

    def addError(self, test, err):
        self._bad(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._bad(subtest, err)


def _pick(suite, words):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _pick(test, words)
        elif not words or any(word in test.id() for word in words):
            yield test


def main(words=tuple(sys.argv[1:])):
    """Run the calling script's tests, or those with one of @words in their
    names."""
    if not os.access(CLSRUN, os.X_OK):
        print("Bail out! set CLS_BUILD to a build directory: no %s" % CLSRUN)
        sys.exit(1)
    suite = unittest.defaultTestLoader.loadTestsFromModule(
        sys.modules["__main__"])
    tests = list(_pick(suite, words))
    print("1..%d" % len(tests))
    result = _Tap()
    for test in tests:
        test(result)
    sys.exit(1 if result.bad else 0)
