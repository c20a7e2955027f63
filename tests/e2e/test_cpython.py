#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Objects and functions of CPython, beside what the program itself says.

$CLS_ACCESSES is how many accesses are compared; each version of CPython 3.9 to
3.13 is tried that is found: Debian's, and those of $CLS_PYTHONS or pyenv.
"""

import glob
import json
import os
import subprocess
import time

import harness
from harness import CLSATTACH, Case, run, running, text
from truth import Truth

BRIEF = bool(os.environ.get("CLS_BRIEF"))
ACCESSES = int(os.environ.get("CLS_ACCESSES", "3000" if BRIEF else "6000"))
ROUNDS = ACCESSES // 100 + 100
SCRIPTS = harness.TARGETS
KNOWN = {(3, minor) for minor in range(9, 14)}
PLACES = os.environ.get("CLS_PYTHONS", "/root/.pyenv/versions/3.*/bin/python3")


def version_of(python):
    out = subprocess.run([python, "-c", "import sys; print(sys.version_info[:2]"
                          "[0], sys.version_info[1])"],
                         capture_output=True, timeout=60).stdout
    return tuple(map(int, out.split()))


def pythons():
    """One of each version that we know, by its name."""
    found = {}
    for python in ["/usr/bin/python3", *sorted(glob.glob(PLACES))]:
        if os.access(python, os.X_OK):
            found.setdefault((version_of(python), python == "/usr/bin/python3"),
                             python)
    return {python: version for (version, _), python in sorted(found.items())
            if version in KNOWN}


PYTHONS = pythons()
DEBIAN = {python: version for python, version in PYTHONS.items()
          if python == "/usr/bin/python3"}


class Python(Case):
    """A script that tells of itself, waits, and goes on once it is watched."""

    def watched(self, python, script, args, options):
        """What it said first, and last, and the log between."""
        argv = [python, os.path.join(SCRIPTS, script), *args]
        with running(argv) as process:
            said = json.loads(process.stdout.readline())
            path = self.new_log()
            with running([CLSATTACH, "-o", path, "-p", str(process.pid),
                          *options(said)]) as tracer:
                self.wait_until_armed(path, tracer)
                process.stdin.write(b"\n")
                process.stdin.flush()
                last = json.loads(process.stdout.readline())
                out, err = process.communicate(b"", harness.TIMEOUT)
                self.assertEqual(0, process.returncode, text(err))
                tracer.communicate(timeout=harness.TIMEOUT)
        return said, last, self.read_log(path)

    def wait_until_armed(self, path, tracer):
        end = time.monotonic() + harness.TIMEOUT
        while time.monotonic() < end and tracer.poll() is None:
            if os.path.exists(path):
                with open(path, "rb") as file:
                    if b'"state":"armed"' in file.read():
                        return
            time.sleep(0.05)
        self.fail("not armed: " + text(tracer.stderr.read()))


def merged(claims):
    """Where they lie, as few ranges."""
    ranges = []
    for claim in sorted(claims, key=lambda c: c["start"]):
        start, end = claim["start"], claim["end"]
        if ranges and start - ranges[-1][1] < 64:
            ranges[-1][1] = max(end, ranges[-1][1])
        else:
            ranges.append([start, end])
    return ranges


class Objects(Python):
    def compare(self, python):
        def options(claims):
            ranges = [word for start, end in merged(claims)
                      for word in ("-w", "0x%x+%d" % (start, end - start))]
            return ["--every", "--max-events", str(ACCESSES), *ranges]
        claims, result, log = self.watched(
            python, "cpython_objects.py", [str(ROUNDS)], options)
        bare = run([python, os.path.join(SCRIPTS, "cpython_objects.py"), "1"],
                   stdin=b"\n")
        self.assertEqual(json.loads(bare.out.splitlines()[-1]), result)
        return Truth(claims).compare(log.accesses), log

    def check(self, score):
        if os.environ.get("CLS_SHOW"):
            print("# %s" % str(score).replace("\n", "\n# "))
        self.assertGreater(score.accesses, ACCESSES // 4, score)
        self.assertGreaterEqual(score.precision, 0.999, score)
        self.assertGreaterEqual(score.recall, 0.99, score)
        self.assertGreaterEqual(score.member_precision, 0.999, score)

    def test_debian(self):
        for python in DEBIAN:
            score, log = self.compare(python)
            self.check(score)
            runtime = [r for r in log.of("runtime") if r["name"] == "cpython"]
            self.assertEqual(1, len(runtime))
            self.assertEqual(["classes", "members", "objects", "frames"],
                             runtime[0]["tells"])

    def test_other_versions(self):
        others = [p for p in PYTHONS if p not in DEBIAN]
        if not others or BRIEF:
            self.skipTest("no other versions" if not others else "brief")
        for python in others:
            with self.subTest(python=python):
                score, _ = self.compare(python)
                self.check(score)

    def test_what_lies_in_no_object(self):
        """Variables of functions, blocks of re, keys of a class."""
        for python, version in PYTHONS.items():
            with self.subTest(python=python):
                said, _, log = self.watched(
                    python, "cpython_locals.py", [],
                    lambda said: ["--every", "-w", "map:anon", "-w",
                                  "map:heap", "--max-events", "60000"])
                parts = {(a["component"]["class"],
                          a["component"].get("member"))
                         for a in log.accesses
                         if a["component"].get("how") == "owner"
                         and a["component"]["class"] in ("SRE_STATE", "type")}
                self.assertIn(("SRE_STATE", "data_stack"), parts)
                self.assertIn(("SRE_STATE", "mark"), parts)
                self.assertIn(("type", "ht_cached_keys"), parts)
                if version >= (3, 11):
                    self.check_variables(said, log)

    def check_variables(self, objects, log):
        """By the objects that are stored into them."""
        for addr, names in zip(objects, ({"one", "first", "third"},
                                         {"other", "second"})):
            stored = {a["component"]["member"] for a in log.accesses
                      if a["op"] == "write" and a["size"] == 8
                      and int(a["new"], 16) == addr
                      and a["component"].get("name") == "hold"}
            stored = {name for name in stored if name[0] != "<"}
            self.assertLessEqual(stored, names)
            self.assertLessEqual(names - {"one", "other"}, stored)

    def test_what_is_dying(self):
        """They are read until all that they refer to is let go."""
        for python in PYTHONS:
            with self.subTest(python=python):
                said, _, log = self.watched(
                    python, "cpython_dying.py", [],
                    lambda said: ["--every", "-w", "map:anon",
                                  "--max-events", "80000"])
                seen = {name: [] for name in said}
                for access in log.accesses:
                    component = access["component"]
                    for name, addr in said.items():
                        if (access["op"] == "read" and access["size"] == 8
                                and int(access["old"], 16) == addr
                                and component.get("class", name) in said
                                and component["kind"] in ("object", "block")):
                            seen[name].append(component.get("class"))
                for name, classes in seen.items():
                    self.assertLessEqual(set(classes), {name, None})
                    self.assertGreater(len(classes), 100)
                    self.assertLess(classes.count(None), len(classes) / 50)

    def test_a_class_that_comes_later(self):
        script = ("import time\n"
                  "class Late:\n"
                  "    def __init__(self): self.word = 'x'\n"
                  "all = [Late() for n in range(400)]\n"
                  "end = time.monotonic() + 2\n"
                  "while time.monotonic() < end:\n"
                  "    for o in all: o.word\n")
        result, log = self.traced(
            ["/usr/bin/python3", "-c", script], "--every", "-w",
            "class:__main__.Late", "--max-events", "500")
        self.assertEqual(0, result.status, text(result.err))
        self.assertEqual(500, len(log.accesses))
        self.assertEqual({"__main__.Late"},
                         {a["component"]["class"] for a in log.accesses})
        self.assertIn("word", {a["component"].get("member")
                               for a in log.accesses})


def told(frames):
    """Those of Python, as the traceback module tells them."""
    return [[f["file"], f["line"], f["function"].rpartition(".")[2]]
            for f in frames if f.get("runtime") == "cpython"]


def whole(expected, access):
    """As far as the record reaches: 256 frames, also those of C."""
    if access.get("stack_end") != "truncated":
        return expected
    return expected[:max(20, len(told(access["stack"])))]


class Frames(Python):
    def compare(self, python):
        def options(address):
            return ["--every", "--stacks=inline", "--depth", "256", "--on",
                    "write", "-w", "0x%x+4096" % address]
        address, stacks, log = self.watched(
            python, "cpython_frames.py", [], options)
        found = {}
        for access in log.accesses:
            i = int(access["addr"], 16) - address
            if access["size"] == 1 and i < len(stacks):
                found[i] = access
        self.assertEqual(len(stacks), len(found))
        return [(stacks[i], found[i]) for i in sorted(found)]

    def check(self, python, version):
        pairs = self.compare(python)
        self.assertGreater(len(pairs), 100)
        wrong = [(expected, told(access["stack"]))
                 for expected, access in pairs
                 if whole(expected, access) != told(access["stack"])]
        self.assertEqual([], wrong[:2], "%d of %d" % (len(wrong), len(pairs)))
        for _, access in pairs:
            self.check_places(access["stack"])
        if version >= (3, 11):
            self.assertIn("Thing.method", {f["function"] for _, a in pairs
                                           for f in a["stack"]
                                           if "function" in f})

    def check_places(self, stack):
        """Each stands before the loop that runs it, and has its ip."""
        for i, frame in enumerate(stack):
            if frame.get("runtime") != "cpython":
                continue
            loop = next(f for f in stack[i:] if "runtime" not in f)
            self.assertEqual(loop["ip"], frame["ip"])
            self.assertTrue(
                loop["function"].startswith("_PyEval_EvalFrameDefault"), loop)

    def test_debian(self):
        for python, version in DEBIAN.items():
            self.check(python, version)

    def test_other_versions(self):
        others = {p: v for p, v in PYTHONS.items() if p not in DEBIAN}
        if not others or BRIEF:
            self.skipTest("no other versions" if not others else "brief")
        for python, version in others.items():
            with self.subTest(python=python):
                self.check(python, version)

    def test_of_a_sleeping_thread(self):
        script = ("import threading, time\n"
                  "def inner(): time.sleep(1.5)\n"
                  "def outer(): inner()\n"
                  "threading.Thread(target=outer).start()\n"
                  "outer()\n")
        result, log = self.traced(
            ["/usr/bin/python3", "-c", script], "-F", "50",
            "--stacks=inline")
        self.assertEqual(0, result.status, text(result.err))
        main, other = set(), set()
        for sample in log.of("sample"):
            names = tuple(f["function"] for f in sample["stack"]
                          if f.get("runtime"))
            if sample["state"] == "sleeping":
                (main if sample["tid"] == sample["pid"] else other).add(names)
        self.assertIn(("inner", "outer", "<module>"), main)
        self.assertIn(("inner", "outer", "Thread.run",
                       "Thread._bootstrap_inner", "Thread._bootstrap"), other)


if __name__ == "__main__":
    harness.main()
