#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Java: what the log says of accesses, beside what the program knows."""

import os
import re
import shutil
import subprocess
import time
import unittest

import harness

MAGIC = 0x5a000000
ELEMENTS = 100
STORES = int(os.environ.get("CLS_STORES", "500"))


def java_home():
    """$JAVA_HOME, or where the java of the path lies; None: there is none."""
    home = os.environ.get("JAVA_HOME")
    java = home and os.path.join(home, "bin", "java") or shutil.which("java")
    if not java or not os.path.exists(java):
        return None
    home = os.path.dirname(os.path.dirname(os.path.realpath(java)))
    return home if os.path.exists(os.path.join(home, "bin", "javac")) else None


def heap(pid, line):
    """What watches the heap, of which the machine's own log tells."""
    start, size = re.search(r"Heap address: (\w+), size: (\d+) MB",
                            line).groups()
    low = int(start, 16)
    high = low + (int(size) << 20)
    for start, stop, rights, path in harness.mappings(pid):
        if rights == "rw-p" and low <= start and stop <= high:
            yield from ("-w", "0x%x+%d" % (start, stop - start))


def libjvm(pid):
    """The addresses of the virtual machine's own code: its collections copy
    the numbers that the program stored."""
    found = [m for m in harness.mappings(pid) if m[3].endswith("/libjvm.so")]
    return found[0][0], found[-1][1]


class Truth:
    """The stores of one run of Truth.java that a log tells, by number."""

    def __init__(self, kinds):
        self.kinds = [kind.split("\t") for kind in kinds]
        self.stored, self.named, self.wrong = set(), 0, []
        self.seen = 0

    def expected(self, number):
        name, member, size = self.kinds[number % len(self.kinds)]
        return (name, member.replace("%", str(number % ELEMENTS)), int(size))

    def look(self, access):
        value = access.get("old" if access["op"] == "read" else "new", "")
        number = int(value, 16) & 0xffffffff if value else 0
        number -= MAGIC
        if not 0 <= number < STORES:
            return
        name, member, size = self.expected(number)
        if access["size"] != size:
            return
        self.seen += 1
        if access["op"] == "write":
            self.stored.add(number)
        component = access["component"]
        if component["kind"] != "object":
            return
        self.named += 1
        got = component["class"], component.get("member", "")
        if got != (name, member) or component["runtime"] != "hotspot":
            self.wrong.append((name, member, component, access["insn"]))


@unittest.skipUnless(java_home(), "no JDK")
class Java(harness.Case):
    def compiled(self, name):
        done = subprocess.run(
            [os.path.join(java_home(), "bin", "javac"), "-d", self.directory,
             os.path.join(harness.TARGETS, name)],
            capture_output=True, timeout=harness.TIMEOUT)
        self.assertEqual(0, done.returncode, done.stderr)

    def await_armed(self, path):
        for _ in range(int(harness.TIMEOUT * 20)):
            if os.path.exists(path):
                with open(path, "rb") as file:
                    if b'"type":"armed"' in file.read():
                        return
            time.sleep(0.05)
        self.fail("not armed")


class Names(Java):
    def check(self, *options):
        self.compiled("Truth.java")
        argv = [os.path.join(java_home(), "bin", "java"), "-Xmx12m", "-Xms12m",
                "-Xlog:gc+heap+coops=debug:stdout:none", *options, "-cp", self.directory, "Truth", str(STORES)]
        with harness.running(argv) as java:
            kinds = []
            for line in iter(java.stdout.readline, b"ready\n"):
                self.assertTrue(line, "java ended")
                kinds.append(harness.text(line.rstrip(b"\n")))
            watch = list(heap(java.pid, kinds.pop(0)))
            low, high = libjvm(java.pid)
            log = self.new_log()
            with harness.running(
                    [harness.CLSATTACH, "--every", *watch, "-o", log,
                      "-p", str(java.pid)]) as tracer:
                self.await_armed(log)
                out, err = java.communicate(b"\n", harness.TIMEOUT)
                self.assertEqual(b"done\n", out, err)
                tracer.communicate(timeout=harness.TIMEOUT)
        truth = Truth(kinds)
        for access in self.read_log(log).accesses:
            if not low <= harness.number(access["ip"]) < high:
                truth.look(access)
        return truth

    def right(self, *options):
        truth = self.check(*options)
        print("# %s: %d accesses seen, %d named, %d wrong" % (
            " ".join(options), truth.seen, truth.named, len(truth.wrong)))
        for wrong in truth.wrong[:10]:
            print("# %s" % (wrong,))
        self.assertEqual(STORES, len(truth.stored))
        self.assertGreaterEqual(truth.named, truth.seen * 0.99)
        self.assertLessEqual(len(truth.wrong), truth.named * 0.001)

    def test_serial(self):
        self.right("-XX:+UseSerialGC")

    def test_parallel(self):
        self.right("-XX:+UseParallelGC")

    def test_g1(self):
        self.right("-XX:+UseG1GC")

    def test_compiler(self):
        """javac, all of its memory but the stacks, sampled."""
        result, log = self.traced(
            [os.path.join(java_home(), "bin", "javac"), "-d", self.directory,
             os.path.join(harness.TARGETS, "Truth.java")],
            "-w", "map:anon", "--sample=20")
        self.assertEqual(0, result.status, result.err)
        found = [access["component"] for access in log.accesses]
        heap = [c for c in found
                if c.get("runtime") == "hotspot" and c["kind"] != "metadata"]
        unnamed = [c for c in heap if c.get("name") == "Java heap"]
        print("# %d accesses, %d of the heap, %d unnamed" % (
            len(found), len(heap), len(unnamed)))
        self.assertTrue(any(c["kind"] == "metadata" for c in found))
        self.assertGreater(len(heap), 20)
        self.assertLess(len(unnamed), max(6, 0.05 * len(heap)))


def spelled(frame):
    return "%s:%d" % (frame["function"], frame.get("line", 0))


def told(stack):
    """Methods of Java from the one that stores on: those that are sure."""
    frames = [f for f in stack if f.get("runtime") == "hotspot" and
              "call_stub" not in f["function"] and "guessed" not in f]
    names = [f["function"] for f in frames]
    if "Chains.store" in names:
        del frames[:names.index("Chains.store")]
    return [spelled(f) for f in frames]


class Frames(Java):
    """Stacks of Java, beside what the program's own Throwable says."""

    def stacks(self, home, options):
        argv = [os.path.join(home, "bin", "java"), "-Xmx32m", "-Xshare:auto",
                "-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames",
                "-XX:CompileCommand=quiet", *options, "-cp", self.directory,
                "Chains"]
        log = self.new_log()
        with harness.running(argv) as java:
            address = int(java.stdout.readline())
            with harness.running(
                    [harness.CLSATTACH, "--every", "--stacks=inline",
                     "--depth", "256", "--verify-stacks", "--on", "write",
                     "-w", "0x%x+4096" % address, "-o", log,
                     "-p", str(java.pid)]) as tracer:
                self.await_armed(log)
                out, err = java.communicate(b"\n", harness.TIMEOUT)
                tracer.communicate(timeout=harness.TIMEOUT)
        truth = {}
        for line in harness.text(out).splitlines():
            number, chain = line.split(" ", 1)
            truth[int(number)] = [re.sub(r":-\d+$", ":0", call)
                                  for call in chain.split("|")[:-1]]
        log = self.read_log(log)
        self.assertEqual(0, log.summary["stacks"]["mismatches"])
        found = {int(a["addr"], 16) - address: a["stack"]
                 for a in log.accesses}
        self.assertEqual(set(truth), set(found), err)
        return [(truth[i], found[i]) for i in sorted(truth)]

    def compare(self, home, *options, most=0):
        """@most: methods inlined at an access that need not be told."""
        for expected, stack in self.stacks(home, options):
            names = told(stack)
            self.assertNotIn("guessed", stack[-1])
            self.assertEqual("clone3", stack[-1]["function"])
            missing = len(expected) - len(names)
            self.assertLessEqual(missing, most, (expected, stack))
            if most and names[0].endswith(":0"):
                # of the innermost no line is known, but at a call
                names[0] = names[0][:-1] + \
                    expected[missing].rpartition(":")[2]
            self.assertEqual(expected[missing:], names)

    def test_interpreter(self):
        self.compiled("Chains.java")
        self.compare(java_home(), "-Xint")

    def test_samples(self):
        """Of stacks as they were, which are walked later."""
        self.compiled("Chains.java")
        log = self.new_log()
        done = subprocess.run(
            [harness.CLSRUN, "-F", "99", "--stacks=inline", "-o", log, "--",
             os.path.join(java_home(), "bin", "java"), "-Xint", "-cp",
             self.directory, "Chains", "spin"],
            capture_output=True, timeout=harness.TIMEOUT)
        self.assertEqual((0, b""), (done.returncode, done.stdout))
        chains = [[f["function"] for f in s.get("stack", [])
                   if f.get("runtime") == "hotspot"]
                  for s in self.read_log(log).of("sample")
                  if s["state"] == "running"]
        chains = [c[c.index("Chains.spin"):] for c in chains
                  if "Chains.spin" in c]
        self.assertGreater(len(chains), 5)
        for chain in chains:
            self.assertEqual(
                ["Chains.spin"] + 4 * ["Chains.hold"] +
                ["Chains.main", "StubRoutines::call_stub"], chain)

    def test_client_compiler(self):
        self.compiled("Chains.java")
        self.compare(java_home(), "-XX:TieredStopAtLevel=1", "-Xcomp",
                     "-XX:CompileCommand=compileonly,Chains*::*", most=3)

    def test_server_compiler(self):
        self.compiled("Chains.java")
        self.compare(java_home(), "-XX:-TieredCompilation", "-Xcomp",
                     "-XX:CompileCommand=compileonly,Chains*::*", most=3)


if __name__ == "__main__":
    harness.main()
