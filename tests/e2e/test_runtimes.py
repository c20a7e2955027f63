#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which runtimes are found in a process, when, and what is told of them.

With CLS_ACCESSES=100000 as many accesses to objects are compared, as issue 6
asks, and not some thousands.
"""

import bisect
import os
import sys
import time

import harness
from harness import CLSATTACH, CLSRUN, Case, number, run, running, target, text

# Loads libstdc++ in the middle of its life.
LATE = """
import ctypes
before = [bytes(1000) for i in range(1000)]
ctypes.CDLL("libstdc++.so.6")
after = [bytes(1000) for i in range(3000)]
"""

ACCESSES = int(os.environ.get("CLS_ACCESSES", "0"))
RUBY = os.path.join(harness.TARGETS, "objects.rb")
NODE = os.path.join(harness.TARGETS, "objects.js")


class Runtimes(Case):
    def log(self, *command, options=()):
        path = self.path("log")
        result = run([CLSRUN, "-w", "map:heap", "--first", *options,
                      "-o", path, "--", *command])
        self.assertEqual(0, result.status, text(result.err))
        log = harness.Log(path)
        self.assertEqual([], log.faults)
        return log

    def names(self, log):
        return [record["name"] for record in log.of("runtime")]

    def test_cxx(self):
        """Before the first access, with its library."""
        log = self.log(target("objects"), options=["--runtime", "c++"])
        kinds = [record["type"] for record in log.records]
        self.assertLess(kinds.index("runtime"), kinds.index("access"))
        found, = log.of("runtime")
        self.assertEqual("c++", found["name"])
        self.assertEqual("module", found["how"])
        self.assertIn("libstdc++", found["module"])
        self.assertRegex(found["version"], r"^6(\.\d+)*$")
        self.assertIn("classes", found["tells"])
        self.assertEqual(4, len(found["tells"] + found["lacks"]))
        self.assertNotIn("reason", found)
        self.assertEqual(["c++"], log.records[0]["options"]["runtimes"])

    def test_none_there(self):
        log = self.log(target("counter"), "10")
        self.assertEqual([], self.names(log))
        self.assertNotIn("runtimes", log.records[0]["options"])

    def test_none_wanted(self):
        """No class is told then."""
        log = self.log(target("objects"), options=["--runtime", "none"])
        self.assertEqual([], self.names(log))
        self.assertEqual(["none"], log.records[0]["options"]["runtimes"])
        self.assertTrue(log.accesses)
        self.assertNotIn("object", {record["component"]["kind"]
                                    for record in log.accesses})

    def test_loaded_late(self):
        """Told before the first access after it came."""
        log = self.log(sys.executable, "-S", "-c", LATE,
                       options=["--runtime", "c++"])
        kinds = [record["type"] for record in log.records]
        self.assertEqual(1, kinds.count("runtime"))
        self.assertIn("access", kinds[:kinds.index("runtime")])

    def test_again_after_exec(self):
        """The new program's, not the old one's."""
        log = self.log("/bin/sh", "-c", 'exec "$0"', target("objects"),
                       options=["--runtime", "c++"])
        kinds = [record["type"] for record in log.records]
        self.assertEqual(1, kinds.count("runtime"))
        self.assertGreater(kinds.index("runtime"), kinds.index("exec"))

    def test_unknown(self):
        result = run([CLSRUN, "--runtime", "cobol", "--", "true"])
        self.assertEqual(125, result.status)
        self.assertEqual(1, len(text(result.err).splitlines()))
        self.assertIn("c++", text(result.err))


class Objects(Case):
    """Programs that say what they touch, beside what is said of them."""

    def read_claims(self, output):
        """{start: (class, end)} of what stays."""
        found = {}
        for line in output:
            words = line.decode().rstrip("\n").split("\t")
            if words[0] == "end":
                break
            if words[0] == "object":
                start, end = int(words[4], 16), int(words[2], 16) + 1
                found[start] = (words[1],
                                max(end, found.get(start, ("", 0))[1]))
        return found

    def traced_from_now(self, command, *options):
        """Attach once it has made its objects, and watch these if nothing
        else: them, those that come and go as {start: {class}}, and the log."""
        path = self.new_log()
        with running(command) as process:
            stay = self.read_claims(process.stdout)
            if "-w" not in options:
                options += tuple(self.watches(stay))
            with running([CLSATTACH, "--every", *options, "-o", path, "-p",
                          str(process.pid)]) as tracer:
                self.wait_for_armed(path, tracer)
                process.stdin.write(b"\n")
                process.stdin.flush()
                rest = process.stdout.read()
                tracer.wait(harness.TIMEOUT)
                err = tracer.stderr.read()
        gone = {}
        for line in rest.decode().splitlines():
            words = line.split("\t")
            if words[0] == "temporary":
                gone.setdefault(int(words[4], 16), set()).add(words[1])
        return stay, gone, self.read_log(path, err)

    def watches(self, stay):
        """What watches these objects."""
        for start, (_, end) in sorted(stay.items()):
            yield from ("-w", "0x%x+%d" % (start, end - start))

    def wait_for_armed(self, path, tracer):
        for _ in range(int(harness.TIMEOUT * 20)):
            if os.path.exists(path):
                with open(path, "rb") as file:
                    if b'"type":"armed"' in file.read(1 << 20):
                        return
            if tracer.poll() is not None:
                break
            time.sleep(0.05)
        self.fail("never armed: " + text(tracer.stderr.read()))

    def compare(self, stay, log):
        """How many accesses to what stays were named, and how many rightly;
        and those of other objects."""
        starts = sorted(stay)
        hit = right = wrong = 0
        others = []
        for access in log.accesses:
            addr, component = number(access["addr"]), access["component"]
            at = bisect.bisect_right(starts, addr) - 1
            named = component["kind"] == "object"
            if at < 0 or addr >= stay[starts[at]][1]:
                others += [component] if named else []
                continue
            hit += 1
            if not named:
                continue
            if (component["class"] == stay[starts[at]][0]
                    and number(component["start"]) == starts[at]):
                right += 1
            else:
                wrong += 1
        return hit, right, wrong, others

    def check(self, program, rounds, least, watch, most=None):
        """At least @least accesses to objects, nearly all of them right, of
        @most events; or $CLS_ACCESSES, of nothing else."""
        options, factor = ("-w", watch), 1
        if ACCESSES and watch.startswith("map:"):
            options, factor = (), ACCESSES / least
            most = least = ACCESSES
        if most:
            options += ("--max-events", str(most))
        stay, gone, log = self.traced_from_now(
            [program, str(int(rounds * factor) + 1)], *options)
        hit, right, wrong, others = self.compare(stay, log)
        print("# %d accesses to objects, %d right, %d wrong, %d unnamed" % (
            hit, right, wrong, hit - right - wrong))
        self.assertGreaterEqual(hit, least)
        self.assertGreaterEqual(right, 0.99 * hit)
        self.assertLessEqual(wrong, 0.001 * (right + wrong))
        return stay, gone, log, others

    def test_gobject(self):
        if not os.path.exists(target("gobjects")):
            self.skipTest("built without gobject-2.0")
        stay, gone, log, others = self.check(
            target("gobjects"), 8, 40000, "map:heap")
        self.assertEqual("gobject", log.of("runtime")[0]["name"])
        # While one is made it is an object of each of its parents in turn.
        classes = {name for names in gone.values() for name in names}
        parents = {"GObject", "ZooAnimal", "ZooLion"}
        self.assertLessEqual({c["class"] for c in others}, classes | parents)
        for component in others:
            if component["class"] in classes - parents:
                self.assertIn(component["class"],
                              gone[number(component["start"])])
        members = {a["component"].get("member") for a in log.accesses
                   if a["component"].get("class") == "ZooLeopon"}
        self.assertLessEqual({"g_class", "ref_count",
                              "<ZooLeopon private>+0",
                              "<ZooAnimal private>+16",
                              "<ZooLeopon>+4"}, members)

    def test_gobject_watched(self):
        """All of a class, and nothing else."""
        if not os.path.exists(target("gobjects")):
            self.skipTest("built without gobject-2.0")
        stay, gone, log, others = self.check(
            target("gobjects"), 3, 300, "class:ZooCage")
        self.assertEqual({"ZooCage"}, {a["component"]["class"]
                                       for a in log.accesses})
        cages = {start for start in stay if stay[start][0] == "ZooCage"}
        self.assertEqual(cages, {number(a["component"]["start"])
                                 for a in log.accesses})

    def test_ruby(self):
        if not os.path.exists("/usr/bin/ruby"):
            self.skipTest("no ruby")
        stay, gone, log, others = self.check(
            RUBY, 200, 8000, "map:anon", most=200000)
        found = {r["name"]: r for r in log.of("runtime")}["ruby"]
        self.assertRegex(found["version"], r"^3\.1\.")
        self.assertIn("members", found["tells"])
        members = {a["component"].get("member") for a in log.accesses
                   if a["component"].get("class", "").startswith("Zoo")}
        self.assertLessEqual({"@legs", "@name", "@fed", "flags", "klass"},
                             members)

    def test_ruby_watched(self):
        if not os.path.exists("/usr/bin/ruby"):
            self.skipTest("no ruby")
        stay, gone, log, others = self.check(
            RUBY, 20, 100, "class:Zoo::L*")
        self.assertEqual({"Zoo::Lion"}, {a["component"]["class"]
                                         for a in log.accesses})
        lions = {start for start in stay if stay[start][0] == "Zoo::Lion"}
        self.assertLessEqual(lions, {number(a["component"]["start"])
                                     for a in log.accesses})

    def test_v8(self):
        if not os.path.exists("/usr/bin/node"):
            self.skipTest("no node")
        stay, gone, log, others = self.check(
            NODE, 20, 1000, "map:anon", most=80000)
        found = {r["name"]: r for r in log.of("runtime")}["v8"]
        self.assertRegex(found["version"], r"^1\d\.\d+")
        self.assertEqual(["frames"], found["lacks"])
        members = {a["component"].get("member") for a in log.accesses
                   if a["component"].get("class") in ("Lion", "Cage")}
        self.assertLessEqual({"map", "mane", "fed", "legs", "bars", "inmate"},
                             members)

    def test_v8_watched(self):
        if not os.path.exists("/usr/bin/node"):
            self.skipTest("no node")
        stay, gone, log, others = self.check(
            NODE, 10, 200, "class:Lion", most=600)
        self.assertEqual({"Lion"}, {a["component"]["class"]
                                    for a in log.accesses})
        lions = {start for start in stay if stay[start][0] == "Lion"}
        self.assertLessEqual(lions, {number(a["component"]["start"])
                                     for a in log.accesses})


if __name__ == "__main__":
    harness.main()
