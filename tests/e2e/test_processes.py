#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kinds of processes: crowds of threads, rights that an exec would give, jobs
of a terminal, namespaces."""

import os
import pwd
import shutil
import subprocess
import time
import unittest

import harness
from harness import CLSATTACH, CLSRUN, Case, run, running, target, text
from test_attach import Attaching

THREADS = 1000
# Far more than it takes, for machines that do much else.
BOUND = 60


class Crowd(Attaching):
    """Attach to a thousand threads, all alive, and let them go."""

    def test_attach(self):
        events = 0
        with running([target("crowd"), str(THREADS), "sleepy"]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            before = self.look(process.pid)
            for _ in range(3):
                start = time.monotonic()
                log = self.attach(process.pid, "-w", "arena", "--every",
                                  "--duration", "0.5")
                spent = time.monotonic() - start - 0.5
                print("# %d threads: in and out in %.1f s, %d events" % (
                    THREADS, spent, len(log.accesses)), flush=True)
                self.assertLess(spent, BOUND)
                self.assert_untouched(process.pid, before)
                events += len(log.accesses)
            out, err = process.communicate(b"", harness.TIMEOUT)
            self.assertEqual((0, b"right\n"), (process.returncode, out),
                             text(err))
        self.assertGreater(events, 100)

    def test_every_event(self):
        result, log = self.traced([target("crowd"), str(THREADS), "3"], "-w",
                                  "arena", "--every")
        self.assertEqual((0, b"ready\nright\n"), (result.status, result.out))
        # three accesses a turn, of which two store, and the check at the end
        self.assertEqual(THREADS * 3 * 3 + THREADS + 1, len(log.accesses))
        writes = [a["tid"] for a in log.accesses if a["op"] != "read"]
        self.assertEqual({6}, {writes.count(tid) for tid in set(writes)})
        self.assertEqual(THREADS, len(set(writes)))


@unittest.skipUnless(os.geteuid() == 0, "only root can make set-user-ID files")
class Privileges(Case):
    """What is executed with rights of its own, by a user without rights."""

    def setUp(self):
        super().setUp()
        nobody = pwd.getpwnam("nobody")
        self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid,
                     "extra_groups": []}
        os.chown(self.directory, nobody.pw_uid, nobody.pw_gid)
        try:
            run([CLSRUN, "--version"], **self.user)
        except PermissionError:
            self.skipTest("another user cannot reach the build directory")
        if os.statvfs(self.directory).f_flag & os.ST_NOSUID:
            self.skipTest("set-user-ID has no meaning in this directory")
        self.program = self.copy("id", 0o4755)

    def copy(self, name, mode):
        path = self.path("rights-of-" + name)
        shutil.copy(shutil.which(name), path)
        os.chown(path, 1, 1)
        os.chmod(path, mode)
        return path

    def warnings(self, argv, *options, **user):
        result, log = self.traced(argv, *options, "-w", "map:data", "--every",
                                  timeout=60, **user)
        self.assertEqual(0, result.status, text(result.err))
        return result, [w["text"] for w in log.of("warning")]

    def test_runs_without_them(self):
        bare = run([self.program], **self.user)
        self.assertIn("euid=1(", text(bare.out))
        for options in ([], ["-f"]):
            for argv in ([self.program],
                         ["/bin/sh", "-c", "exec " + self.program],
                         ["/bin/sh", "-c", self.program + "; true"]):
                result, said = self.warnings(argv, *options, **self.user)
                traced = options or argv[-1][-4:] != "true"
                self.assertNotIn("euid", text(result.out))
                self.assertEqual(int(bool(traced)), len(said), said)
                self.assertTrue(all("CAP_SYS_PTRACE" in s for s in said))

    def test_root_loses_none(self):
        result, said = self.warnings([self.program])
        self.assertIn("euid=1(", text(result.out))
        self.assertEqual([], said)

    def test_none_to_lose(self):
        result, said = self.warnings(
            ["setpriv", "--no-new-privs", self.program], **self.user)
        self.assertNotIn("euid", text(result.out))
        self.assertEqual([], said)

    def test_nobody_may_read_it(self):
        program = self.copy("id", 0o711)
        for options in ([], ["-f"]):
            result, said = self.warnings(
                ["/bin/sh", "-c", "%s; exec %s" % (program, program)],
                *options, **self.user)
            self.assertEqual(2, text(result.out).count("uid="))
            self.assertEqual(2 if options else 1, len(said), said)
            self.assertTrue(all("untraced" in s for s in said))

    def test_running_with_them(self):
        program = self.copy("sleep", 0o4755)
        with running([program, "30"], **self.user) as process:
            tracer = run([CLSATTACH, "-p", str(process.pid)], **self.user)
            self.assertEqual(125, tracer.status)
            self.assertIn("set-user-ID", text(tracer.err))
            self.assertIsNone(process.poll())


if __name__ == "__main__":
    harness.main()
