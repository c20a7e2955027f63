#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kinds of processes: crowds of threads, rights that an exec would give, jobs
of a terminal, namespaces."""

import contextlib
import json
import os
import pty
import pwd
import re
import resource
import select
import shutil
import signal
import time
import unittest

import harness
import servers
from harness import (CLSATTACH, CLSRUN, Case, declared, run, running, target,
                     text)
from test_attach import Attaching, beginning

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


TRAP = """
trap "echo got; exit 3" RTMIN+6
echo ready
while :; do sleep 0.1; done
"""


class Passed(Case):
    def test_realtime_signal(self):
        with running([CLSRUN, "-q", "-w", "map:heap", "-o", "/dev/null", "--",
                      "bash", "-c", TRAP]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            process.send_signal(signal.SIGRTMIN + 6)
            out, err = process.communicate(b"", harness.TIMEOUT)
            self.assertEqual((3, b"got\n"), (process.returncode, out),
                             text(err))


def limited(*limits):
    """For preexec_fn: (resource, soft limit, hard limit), each."""
    def apply():
        for number, soft, hard in limits:
            resource.setrlimit(number, (soft, hard))
    return apply


class Limits(Case):
    """Those of clsrun are meant for the program, and kill neither."""

    def setUp(self):
        super().setUp()
        self.user = {}
        if os.geteuid() == 0:  # who could lift them
            self.user = {"user": 65534, "group": 65534, "extra_groups": []}
            os.chown(self.directory, 65534, 65534)
        try:
            run([CLSRUN, "--version"], **self.user)
        except PermissionError:
            self.skipTest("another user cannot reach the build directory")

    def test_of_the_program(self):
        argv = ["bash", "-c", "ulimit -Sa; ulimit -Ha; trap -p"]
        limits = limited((resource.RLIMIT_FSIZE, 8192, 1 << 30),
                         (resource.RLIMIT_NOFILE, 10, 100),
                         (resource.RLIMIT_CPU, 5, 9))
        bare = run(argv, preexec_fn=limits)
        result = run([CLSRUN, "-w", "map:data", "-o", self.new_log(), "--",
                      *argv], preexec_fn=limits)
        self.assertRegex(text(bare.out), r"-f\) 8\n")
        self.assertEqual((0, bare.out), (result.status, result.out),
                         text(result.err))

    def test_file_size(self):
        """The log is as long as it may be, and the program ends well."""
        path = self.new_log()
        argv = [target("hammer"), "1000"]
        result = run([CLSRUN, "-w", "arena", "--every", "-o", path, "--",
                      *argv], **self.user, preexec_fn=limited(
                          (resource.RLIMIT_FSIZE, 1100000, 1100000)))
        self.assertEqual((125, run(argv).out), (result.status, result.out))
        self.assertIn("File too large", text(result.err))
        with open(path, "rb") as file:
            lines = file.read().splitlines(True)
        self.assertGreater(len(lines), 1000)
        for line in lines:
            json.loads(line)

    def test_files(self):
        """It is said before the program runs, not found out meanwhile."""
        result = run([CLSRUN, "-o", self.new_log(), "--", "echo", "ran"],
                     **self.user, preexec_fn=limited(
                         (resource.RLIMIT_NOFILE, 12, 12)))
        self.assertEqual((125, b""), (result.status, result.out))
        self.assertIn("ulimit -n", text(result.err))

    def test_time(self):
        """Before ours is over the program is let go.  Stacks take time of
        ours alone."""
        path = self.new_log()
        argv = [target("hammer"), "60000"]
        result = run([CLSRUN, "--stacks=inline", "-w", "arena", "--every", "-o",
                      path, "--", *argv], **self.user, preexec_fn=limited(
                          (resource.RLIMIT_CPU, 1, 1)))
        self.assertEqual((0, run(argv).out), (result.status, result.out),
                         text(result.err))
        self.assertEqual("interrupted", self.read_log(path).summary["end"])


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


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"),
                     "cannot make namespaces")
class Elsewhere(Attaching):
    """Programs that see other files and other numbers than we do: names come
    from the files that they see."""

    def setUp(self):
        super().setUp()
        self.program = self.path("program")
        # what is at this path for us has no such symbol
        shutil.copy(target("counter"), self.program)
        if run(["unshare", "-pmf", "true"]).status:
            self.skipTest("unshare is not permitted")

    def names(self, log):
        self.assertNotEqual([], log.accesses)
        self.assertEqual({"arena"}, {a["component"]["name"]
                                     for a in log.accesses})

    def attached(self, argv, *options):
        with running(argv) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            pid = process.pid
            with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
                pid = int((file.read().split() or [pid])[0])
            before = self.look(pid)
            log = self.attach(pid, "-k", "-w", "arena", "--every",
                              "--max-events", "500", *options)
            self.names(log)
            self.assertIn("hammer", {f.get("function") for a in log.accesses
                                     for f in a["stack"]})
            self.assert_untouched(pid, before)
            out, err = process.communicate(b"", harness.TIMEOUT)
            self.assertEqual((0, b"right, interrupted 0\n"),
                             (process.returncode, out), text(err))

    def in_namespace(self, *argument):
        script = ("mount -t tmpfs none %s && cp %s %s && exec %s %s" % (
            self.directory, target("hammer"), self.program, self.program,
            " ".join(argument)))
        return ["unshare", "-pmf", "/bin/sh", "-c", script]

    def in_jail(self, *argument):
        libraries = re.findall(r"/\S+", text(run(
            ["ldd", target("hammer")]).out))
        for file in libraries:
            place = self.path("jail") + os.path.dirname(file)
            os.makedirs(place, exist_ok=True)
            shutil.copy(file, place)
        shutil.copy(target("hammer"), self.path("jail/program"))
        return ["chroot", self.path("jail"), "/program", *argument]

    def test_attach_to_namespace(self):
        self.attached(self.in_namespace())

    def test_attach_to_jail(self):
        self.attached(self.in_jail())

    def test_survive_in_jail(self):
        self.attached(self.in_jail(), "--survive")

    def test_run_into_them(self):
        for argv in (self.in_namespace("20"), self.in_jail("20")):
            result, log = self.traced(argv, "-f", "-w", "arena", "--every")
            self.assertEqual((0, b"ready\nright, interrupted 0\n"),
                             (result.status, result.out), text(result.err))
            self.names(log)


class Pages(Case):
    """Memory of kinds that the kernel treats apart, handled or refused; that
    the program sees no difference, test_same tells."""

    def pages(self, kind):
        result, log = self.traced([target("pages"), kind],
                                  *declared("pages")[0])
        self.assertEqual(0, result.status, text(result.err))
        return text(result.out), log

    def test_transparent_huge_pages(self):
        _, log = self.pages("thp")
        # three times 16 bytes are stored
        self.assertEqual(3 * 16, len([a for a in log.accesses
                                      if a["op"] == "write"]))

    def test_huge_pages_of_the_pool(self):
        out, log = self.pages("tlb")
        if "no huge pages" in out:
            self.skipTest("vm.nr_hugepages is 0")
        self.assertIn(("map:/anon_hugepage*", "huge pages (hugetlb)"), [
            (r["watch"], r.get("refused")) for armed in log.of("armed")
            for r in armed["ranges"]])

    def test_protection_keys(self):
        out, log = self.pages("key")
        self.assertIn("signal 11 code 2", out)
        self.assertEqual(2 * 16 + 2, len([a for a in log.accesses
                                          if a["op"] == "write"]))
        if "no protection keys" in out:
            self.skipTest("the processor has no protection keys")

    def test_sealed_pages(self):
        _, log = self.pages("seal")
        said = [w["text"] for w in log.of("warning") if "sealed" in w["text"]]
        events = sum(a["op"] == "write" for a in log.accesses)
        # what is sealed while it is open goes unwatched, and that is told
        self.assertEqual(events < 1 + 16 + 1, bool(said))


class Terminal:
    """An interactive shell, the leader of a session of its own."""

    SHELL = ["bash", "--norc", "--noprofile", "--noediting", "-i"]

    def __init__(self, argv):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(PS1="> ", TERM="dumb")
            os.execvp(argv[0], argv)
        self.read = b""

    def type(self, data):
        os.write(self.fd, data)

    def wait_for(self, wanted, again=b""):
        """Read until @wanted came, typing @again meanwhile; returns all that
        was read since."""
        end = time.monotonic() + harness.TIMEOUT / 2
        while wanted not in self.read:
            if select.select([self.fd], [], [], 0.5)[0]:
                try:
                    self.read += os.read(self.fd, 4096)
                    continue
                except OSError:
                    end = 0
            if time.monotonic() > end:
                raise AssertionError("%r did not come, but %r; threads:\n%s" % (
                    wanted, self.read, harness.states_text(self.pid)))
            if again:
                self.type(again)
        _, _, self.read = self.read.partition(wanted)

    def end(self):
        """The exit status of the shell; it is killed if it does not end."""
        self.type(b"exit 3\n")
        end = time.monotonic() + harness.TIMEOUT / 4
        while time.monotonic() < end:
            try:
                if select.select([self.fd], [], [], 0.05)[0]:
                    os.read(self.fd, 4096)
            except OSError:  # nobody has it open any longer
                time.sleep(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        return None

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


@unittest.skipUnless(shutil.which("bash"), "no bash")
class Jobs(Attaching):
    """^Z, fg, and a job in the background that wants to read."""

    def job(self, terminal, command):
        terminal.type(command + b"\n")
        terminal.wait_for(b"ready")
        terminal.type(b"\x1a")
        terminal.wait_for(b"Stopped")
        terminal.type(b"fg\n")
        terminal.wait_for(b"continued")
        terminal.type(b"word\n")
        terminal.wait_for(b"got word")
        terminal.type(b"echo status $?\n")
        terminal.wait_for(b"status 7")
        terminal.type(command + b" now &\n")
        terminal.wait_for(b"ready")
        terminal.wait_for(b"Stopped", again=b"\n")
        terminal.type(b"fg\n")
        time.sleep(0.3)
        terminal.type(b"word\n")
        terminal.wait_for(b"got word")
        terminal.type(b"echo status $?\n")
        terminal.wait_for(b"status 7")

    def shell(self, argv, command, also=None):
        terminal = Terminal(argv)
        try:
            terminal.wait_for(b"> ")
            with also(terminal.pid) if also else contextlib.nullcontext():
                self.job(terminal, command)
            self.assertEqual(3, terminal.end())
        finally:
            terminal.close()

    def events(self, path):
        log = self.read_log(path)
        self.assertNotEqual([], log.accesses)
        self.assertEqual({"jobs"}, {a["comm"] for a in log.accesses})
        return log

    def test_bare(self):
        self.shell(Terminal.SHELL, target("jobs").encode())

    def test_a_job_is_traced(self):
        path = self.path("job")
        self.shell(Terminal.SHELL, " ".join([
            CLSRUN, "-w", "counter", "--every", "-o", path, "--",
            target("jobs")]).encode())
        self.events(path)

    def test_the_shell_is_traced(self):
        for more in [], ["--survive"]:
            path = self.new_log()
            self.shell([CLSRUN, "-f", *more, "-w", "counter", "--every", "-o",
                        path, "--", *Terminal.SHELL], target("jobs").encode())
            self.events(path)

    def test_attached_to_the_shell(self):
        path = self.new_log()

        @contextlib.contextmanager
        def attached(pid):
            # of the shell's own data, so that it is armed
            with running([CLSATTACH, "-f", "-w", "map:*/jobs", "-w",
                          "last_command_exit_value", "--every", "-o", path,
                          "-p", str(pid)]) as tracer:
                servers.wait_for("armed", 30, lambda: b'"armed"' in
                                 beginning(path))
                yield
                tracer.send_signal(signal.SIGTERM)
                _, err = tracer.communicate(timeout=30)
                self.assertEqual(0, tracer.returncode, text(err))

        self.shell(Terminal.SHELL, target("jobs").encode(), attached)
        self.assertIn("jobs", {a["comm"] for a in
                               self.read_log(path).accesses})

    def test_stopped_meanwhile(self):
        """It stays so when we leave, by whatever way."""
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            path = self.new_log()
            with running([target("hammer")]) as process:
                self.assertEqual(b"ready\n", process.stdout.readline())
                with running([CLSATTACH, "-w", "arena", "--every", "-o", path,
                              "--duration", "1.5" if not number else "1h",
                              "-p", str(process.pid)]) as tracer:
                    servers.wait_for("events", 30, lambda: b'"access"' in
                                     beginning(path))
                    os.kill(process.pid, signal.SIGSTOP)
                    time.sleep(0.5)
                    if number:
                        tracer.send_signal(number)
                    tracer.wait(30)
                    servers.wait_for("detach", 30, lambda: set(
                        harness.thread_states(process.pid).values()) == {"T"})
                time.sleep(0.2)
                self.assertEqual({"T"}, set(
                    harness.thread_states(process.pid).values()))
                os.kill(process.pid, signal.SIGCONT)
                out, err = process.communicate(b"", harness.TIMEOUT)
                # to be stopped ends epoll_wait(2), bare, too
                self.assertEqual((0, b"right, interrupted 1\n"),
                                 (process.returncode, out), "%s %s" % (number, text(err)))


if __name__ == "__main__":
    harness.main()
