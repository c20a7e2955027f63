#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each system call of tests/targets/calls.c, with its buffers on guarded
memory in several ways: as in a bare run, and one event for each buffer.

The kernel is the oracle: the target tells what was in its buffers before and
after, and knows nothing of how cls moves them.
"""

import json
import os
import re
import subprocess

import harness
from harness import Case, number, run, target, text

WATCHED = ["calls_all"] + ["calls_%d" % i for i in range(16)]
OPTIONS = [word for name in WATCHED for word in ("-w", name)]
SHOWN = 64
TOGETHER = 12
MESSAGES, ECHO_TIMEOUT = 10000, 400

# live.h
CHANGES, MOVES, REFUSED, UNSEEN = 1, 16, 32, 64

# Rows of the table that have no case, and why.
NO_CASE = {
    "rt_sigreturn": "every handler returns by it: same:handler_*, masks ...",
    "restart_syscall": "made by the kernel alone: same:restart, same:poll",
    "reboot": "a fault in the test would end the machine",
    "kexec_load": "as reboot",
    "kexec_file_load": "as reboot",
    "uretprobe": "made by the kernel's own trampoline alone",
}

PROGRAM = target("calls")
LISTED = [line.split(" ", 1) for line in run(
    [PROGRAM, "--list"]).out.decode().splitlines()]
CASES = [name for _, name in LISTED]


def call_names():
    """Numbers to names, as the C library's headers have them."""
    out = subprocess.run(["cpp", "-dM", "-include", "asm/unistd_64.h",
                          "/dev/null"], stdout=subprocess.PIPE, check=True)
    found = re.findall(r"#define __NR_(\w+) (\d+)", out.stdout.decode())
    return {int(at): name for name, at in found}


NAMES = call_names()


def comparable(line):
    """What a bare run tells, too, of the lines of one call."""
    if line["flags"] & (CHANGES | MOVES):
        line = dict(line, result=min(line["result"], 0), buffers=[
            {key: buffer[key] for key in ("at", "size")}
            for buffer in line["buffers"]])
    return line


def is_watched(at):
    """In the first part, or in every second step of the second."""
    part, step = 32 * 4 * 4096, 4 * 4096
    offset = at - ARENA
    return offset < part or (offset < 2 * part
                             and (offset - part) // step % 2 == 1)


def arena():
    out = subprocess.run(["nm", PROGRAM], stdout=subprocess.PIPE, check=True)
    return int(re.search(r"^(\w+) \w calls_arena$", out.stdout.decode(),
                         re.M)[1], 16)


ARENA = arena()
MARK = ARENA + 32 * 4 * 4096 - 8


def contents(event, limit):
    """The old and new bytes of an event: short ones are written as numbers."""
    def as_bytes(value):
        if value.startswith("0x"):
            value = number(value).to_bytes(event["size"], "little")
        else:
            value = bytes.fromhex(value)
        return value[:max(limit, 0)]

    old = as_bytes(event["old"])
    return old, as_bytes(event["new"]) if "new" in event else old


def by_line(accesses, count):
    """The kernel's events of each call: the target notes where they begin."""
    found, this = [[] for _ in range(count)], None
    for x in accesses:
        if x["by"] == "user" and number(x["addr"]) == MARK:
            this = found[number(x["new"]) - 1]
        elif x["by"] == "kernel":
            this.append(x)
    return found


def rows_with_memory():
    """Numbers and names of the rows of cls's table that take addresses."""
    guard = os.path.join(harness.HERE, os.pardir, os.pardir, "tracer", "guard")
    for part, at in ("low", 0), ("high", 154), ("new", 424):
        with open(os.path.join(guard, "syscalls_%s.c" % part)) as file:
            rows = re.findall(
                r"^\t(CALL|MORE|PLACE|UNKNOWN)\((\w+), ([^;]*?)\),$",
                file.read(), re.M)
        for row, (kind, name, rest) in enumerate(rows, at):
            if kind != "CALL" or "(" in rest:
                yield row, name


class Calls(Case):
    def test_every_row_has_a_case(self):
        out = run([PROGRAM, *CASES], timeout=300).out
        made = {json.loads(line)["number"] for line in out.splitlines()}
        rows = dict(rows_with_memory())
        self.assertGreater(len(rows), 200)
        self.assertEqual(["write", "mount", "cachestat"], [
            rows[1], rows[165], rows[451]])
        self.assertEqual(set(NO_CASE), {name for at, name in rows.items()
                                        if at not in made})

    def compare(self, names, *options):
        bare = run([PROGRAM, *names])
        result, log = self.traced([PROGRAM, *names], *OPTIONS, *options)
        self.assertEqual((0, 0), (bare.status, result.status), text(
            bare.out[-200:] + result.out[-200:] + result.err))
        self.assertEqual(text(bare.err), text(result.err))
        expected, seen = ([json.loads(line) for line in out.splitlines()]
                          for out in (bare.out, result.out))
        self.assertEqual([comparable(x) for x in expected],
                         [comparable(x) for x in seen])
        if any(line["flags"] & UNSEEN for line in seen):
            self.assertNotEqual([], log.summary["unseen"])
        self.check_events(seen, by_line(log.accesses, len(seen)))

    def check_events(self, lines, events):
        """Each event lies in a buffer, and each buffer has its event."""
        for i, line in enumerate(lines):
            what = "%s %s: %s" % (line["case"], line["place"], events[i])
            for x in events[i]:
                self.assertEqual(NAMES.get(line["number"], x["syscall"]),
                                 x["syscall"], what)
            if line["flags"] & (REFUSED | UNSEEN):
                continue
            for k, buffer in enumerate(line["buffers"]):
                at, size = buffer["at"], buffer["size"]
                # Two runs differ in what was there: a byte that neither
                # changed was not written.
                other = lines[i ^ 1]["buffers"][k]
                changed = {at + at_byte for b in (buffer, other)
                           for at_byte in range(b["first"], b["last"])}
                self.check_buffer(buffer, changed, [
                    x for x in events[i]
                    if at <= number(x["addr"]) < at + size], what)

    def check_buffer(self, buffer, changed, events, what):
        at, size = buffer["at"], buffer["size"]
        what = "%#x+%d %s" % (at, size, what)
        pages = {at // 4096, (at + size - 1) // 4096}
        if not any(is_watched(page * 4096) for page in pages):
            self.assertEqual([], events, what)
        told = []
        for x in events:
            start = number(x["addr"])
            if x["op"] != "read":
                self.assertLessEqual(start + x["size"], at + size, what)
                told += range(start, start + x["size"])
            self.assertEqual(self.between(buffer, start - at, x), contents(
                x, min(SHOWN, size) - (start - at)), what)
        self.assertEqual(len(told), len(set(told)), what)
        missed = [x for x in changed - set(told) if is_watched(x)]
        self.assertEqual([], missed, what)

    @staticmethod
    def between(buffer, offset, event):
        """The old and new bytes of a part of a buffer, as far as told."""
        end = min(SHOWN, offset + event["size"], buffer["size"])
        before, after = (bytes.fromhex(buffer[key])[offset:end]
                         for key in ("before", "after"))
        return before, before if event["op"] == "read" else after


class Echo(Case):
    def test_each_message_is_two_events(self):
        result, log = self.traced([target("echo"), str(MESSAGES)], "-w", "box",
                                  timeout=ECHO_TIMEOUT)
        self.assertEqual(0, result.status, text(result.out + result.err))
        self.assertEqual("%d reads, %d writes\n" % (MESSAGES, MESSAGES),
                         text(result.out))
        self.assertEqual([], log.summary["unseen"])
        seen = [(x["syscall"], x["op"], x["size"]) for x in log.accesses]
        self.assertEqual([("read", "write", 64), ("write", "read", 64)]
                         * MESSAGES, seen)
        self.assert_same_bytes(log.accesses)

    def assert_same_bytes(self, events):
        """What is written is what was read last, and found its old bytes."""
        for read, write in zip(events[::2], events[1::2]):
            self.assertEqual(read["new"], write["old"])
        for write, read in zip(events[1::2], events[2::2]):
            self.assertEqual(write["old"], read["old"])


def add(names, *options):
    def test(self):
        self.compare(names, *options)
    word = re.sub(r"\W", "_", "_".join((*options, names[0], "to", names[-1])))
    setattr(Calls, "test_" + word, test)


def add_groups(names):
    """A program starts for several calls at once; every fourth with -k."""
    for at in range(0, len(names), TOGETHER):
        add(names[at:at + TOGETHER])
        if at // TOGETHER % 4 == 0:
            add(names[at:at + TOGETHER], "-k")


# The pages of those that are refused are lost to all that follow.
for lost in 0, REFUSED:
    add_groups([name for flags, name in LISTED if int(flags) & REFUSED == lost])


if __name__ == "__main__":
    harness.main()
