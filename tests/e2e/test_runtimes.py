#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which runtimes are found in a process, when, and what is told of them."""

import os
import sys

import harness
from harness import CLSRUN, Case, run, target, text

# Loads libstdc++ in the middle of its life.
LATE = """
import ctypes
before = [bytes(1000) for i in range(1000)]
ctypes.CDLL("libstdc++.so.6")
after = [bytes(1000) for i in range(3000)]
"""


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


if __name__ == "__main__":
    harness.main()
