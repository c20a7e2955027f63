#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the log says of accesses that are known, one by one."""

import ctypes
import lzma
import os
import subprocess
import tempfile
import unittest

import harness
from harness import CLSRUN, Case, number, run, running, target, text

# Names of the same length as the plain ones that they replace in names.cc
GLOBAL = b"plain_name_of_a_global"
CLASS = b"Plain_name_of_a_class"
ODD_GLOBAL = b'q"uote\\back\nl\t\x01\xff\xc3('.ljust(len(GLOBAL), b"_")
ODD_CLASS = b'Odd"\\\n\r\x02\xfe\xe2\x82 <n>%s'.ljust(len(CLASS), b"_")
assert len(GLOBAL) == len(ODD_GLOBAL) and len(CLASS) == len(ODD_CLASS)


def as_text(name):
    """The bytes of a name as json.loads() gives what the log has for them."""
    return name.decode("utf-8", "surrogateescape")


class Counting(Case):
    def assert_chain(self, accesses):
        self.assertEqual(list(range(10000)),
                         [number(a["old"]) for a in accesses])
        self.assertEqual(list(range(1, 10001)),
                         [number(a["new"]) for a in accesses])
        self.assertEqual({("write", 8)},
                         {(a["op"], a["size"]) for a in accesses})
        self.assertEqual(1, len({a["addr"] for a in accesses}))

    def test_every_store_is_an_event(self):
        result, log = self.traced([target("counter"), "stores"],
                                  "-w", "counter", "--every")
        self.assertEqual((0, b"stored\n"), (result.status, result.out))
        self.assertEqual(10000, len(log.accesses))
        self.assert_chain(log.accesses)

    def test_result_is_right(self):
        result, log = self.traced([target("counter")], "-w", "counter",
                                  "--every")
        self.assertEqual((0, b"10000\n"), (result.status, result.out))
        *stores, load = log.accesses
        self.assert_chain(stores)
        self.assertEqual(("read", 10000), (load["op"], number(load["old"])))
        self.assertNotIn("new", load)

    def test_a_long_run_is_one_event(self):
        result, log = self.traced([target("runs")], "-w", "box", "--every")
        self.assertEqual(0, result.status)
        runs = [(a["insn"].split()[1], a["op"], a["size"])
                for a in log.accesses if a["size"] < 600000]
        self.assertEqual([("movsb", "read", 299991), ("movsb", "write", 299991),
                          ("movsq", "read", 299992), ("movsq", "write", 299992),
                          ("movsd", "read", 299964), ("movsd", "write", 299964)],
                         runs[:6])

    def test_on_write_leaves_reads_out(self):
        result, log = self.traced([target("counter")], "-w", "counter",
                                  "--on", "write")
        self.assertEqual(b"10000\n", result.out)
        self.assert_chain(log.accesses)

    def test_on_read_leaves_writes_out(self):
        result, log = self.traced([target("counter")], "-w", "counter",
                                  "--on", "read")
        self.assertEqual(b"10000\n", result.out)
        self.assertEqual([("read", 10000)], [
            (a["op"], number(a["old"])) for a in log.accesses])

    def test_max_events(self):
        result, log = self.traced([target("counter")], "-w", "counter",
                                  "--every", "--max-events", "100")
        self.assertEqual((0, b"10000\n"), (result.status, result.out))
        self.assertEqual(list(range(1, 101)),
                         [number(a["new"]) for a in log.accesses])

    def test_heap_that_shrank_and_grew(self):
        _, log = self.traced([target("shrink")], "-w", "map:heap", "--every")
        written = [number(a["new"]) for a in log.accesses
                   if a["op"] == "write" and "syscall" not in a]
        self.assertEqual([1000 * round + i for round in (1, 2, 3)
                          for i in range(4)],
                         [value for value in written
                          if value // 1000 in (1, 2, 3)
                          and value % 1000 < 4])

    def test_heap_is_malloc_s(self):
        """Its arenas, and no mapping of the program's own beside them."""
        argv = [target("arenas"), "500"]
        own = ["0x5a", "0x5b", "0x5c"]
        for watch, found, blocks in (("heap", [], 500), ("anon", own, 0)):
            _, log = self.traced(argv, "-w", "map:" + watch, "--every")
            written = [a["new"] for a in log.accesses if a["op"] == "write"]
            self.assertEqual(found, [w for w in written if w in own])
            self.assertEqual(blocks, written.count("0x000a3e4a"))

    def test_main_thread_is_gone(self):
        result, log = self.traced([target("main_exit")], "-w", "number",
                                  "--every")
        self.assertEqual((5, b"1001\n"),
                         (result.status, result.out))
        self.assertEqual({"number"},
                         {a["component"]["name"] for a in log.accesses})

    def test_division_by_a_watched_zero(self):
        result, log = self.traced([target("divide")], "-w", "watched",
                                  "--every")
        self.assertEqual(b"ready\n1000\n", result.out)
        reads = [a for a in log.accesses if a.get("insn", "").startswith("idiv")]
        self.assertEqual({("read", "0x00000000")},
                         {(a["op"], a["old"]) for a in reads})
        self.assertEqual(1000, len(reads))

    def test_first_stays_first_when_armed_anew(self):
        _, log = self.traced([target("first")], "-w", "map:heap", "--first")
        seen = set()
        for access in log.accesses:
            first = number(access["addr"]) // 4096
            last = (number(access["addr"]) + access["size"] - 1) // 4096
            pages = set(range(first, last + 1))
            self.assertTrue(pages - seen, access)  # one at least is new
            seen |= pages
        self.assertGreaterEqual(len(seen), 6)

    def test_first_is_once_a_page(self):
        result, log = self.traced([target("counter")], "-w", "counter",
                                  "--first")
        self.assertEqual(b"10000\n", result.out)
        self.assertEqual([1], [number(a["new"]) for a in log.accesses])

    def test_armed_and_self_test(self):
        _, log = self.traced([target("counter")], "-w", "counter")
        armed = [r for r in log.of("armed") if r["state"] == "armed"]
        self.assertEqual("seen", armed[-1]["self_test"])
        self.assertGreaterEqual(armed[-1]["pages"], 1)
        spans = [number(r["end"]) - number(r["start"])
                 for r in armed[-1]["ranges"] if "refused" not in r]
        self.assertEqual([8], spans)
        self.assertEqual(("exited", 0),
                         (log.summary["end"], log.summary["status"]))

    def test_component_is_the_symbol(self):
        _, log = self.traced([target("counter")], "-w", "counter")
        component = log.accesses[0]["component"]
        self.assertEqual(("global", "counter", 0, 8), tuple(
            component[k] for k in ("kind", "name", "offset", "size")))


class Threads(Case):
    def one_run(self):
        result, log = self.traced([target("threads")], "-w", "board", "--on",
                                  "write", "--every")
        self.assertEqual(
            (0, b"100000 25000 25000 25000 25000\n"),
            (result.status, result.out), text(result.err))
        pid = log.records[0]["pid"]
        of = {}
        for access in log.accesses:
            of.setdefault(access["tid"], []).append(access)
        # The dynamic linker may write the vtable pointer, once.
        self.assertLessEqual(len(of.pop(pid, [])), 1)
        self.assertEqual([50000] * 4, [len(x) for x in of.values()])
        for accesses in of.values():
            locked = [a for a in accesses if a["op"] == "rw"]
            plain = [a for a in accesses if a["op"] == "write"]
            self.assertEqual(25000, len(locked))
            self.assertEqual(list(range(1, 25001)),
                             [number(a["new"]) for a in plain])
        # Together the additions count without a gap, whoever made them.
        self.assertEqual(list(range(1, 100001)), sorted(
            number(a["new"]) for a in log.accesses if a["op"] == "rw"))
        names = {a["component"].get("class") for a in log.accesses}
        self.assertEqual({"Board"}, names)


def add_run(i):
    setattr(Threads, "test_200000_events_run_%d" % i, Threads.one_run)


for each in range(1, 3 if harness.BRIEF else 6):
    add_run(each)


class Text(Case):
    """Valid JSON, whatever the names hold."""

    def odd_program(self):
        with open(target("names"), "rb") as file:
            data = file.read()
        self.assertGreater(data.count(GLOBAL), 0)
        self.assertGreater(data.count(CLASS), 1)  # vtable and type_info
        odd = os.fsencode(self.path("")) + b'fi"le\\ \n\x01\xff\xe2 name'
        with open(odd, "wb") as file:
            file.write(data.replace(GLOBAL, ODD_GLOBAL)
                       .replace(CLASS, ODD_CLASS))
        os.chmod(odd, 0o755)
        return odd

    def jq(self, log, *arguments):
        with open(log, "rb") as file:
            return run(["jq", *arguments], stdin=file.read())

    def test_odd_names(self):
        odd = self.odd_program()
        log = self.new_log()
        result = run([CLSRUN, "-w", ODD_GLOBAL, "--every", "--on", "write",
                      "-k", "-o", log, "--", odd])
        self.assertEqual((0, b"stored\n"), (result.status, result.out),
                         text(result.err))
        read = self.read_log(log)
        parts = [a["component"] for a in read.accesses]
        self.assertTrue(parts)
        known = {p.get("class") for p in parts} | {p.get("name")
                                                   for p in parts}
        self.assertTrue(known & {as_text(ODD_GLOBAL), as_text(ODD_CLASS)},
                        known)
        modules = {f.get("module") for a in read.accesses
                   for f in a.get("stack", ())}
        self.assertTrue([m for m in modules if m and m.endswith(
            as_text(odd.rpartition(b"/")[2]))], modules)
        checked = self.jq(log, "-e", ".")
        self.assertEqual(0, checked.status, text(checked.err))

    def test_all_ones_survive_jq(self):
        log = self.new_log()
        result = run([CLSRUN, "-w", GLOBAL, "--every", "--on", "write", "-o",
                      log, "--", target("names")])
        self.assertEqual(0, result.status, text(result.err))
        self.read_log(log)
        values = self.jq(log, "-r", "-e", 'select(.type == "access") | .new')
        self.assertEqual("0xffffffffffffffff",
                         text(values.out).splitlines()[-1])
        self.assertIn("0xfffffffffffffffe", text(values.out).splitlines())


class Where(Case):
    """Where the log and the program's output go."""

    def test_without_o(self):
        result = run([CLSRUN, "-w", "counter", "--first", "--",
                      target("counter")])
        self.assertEqual(0, result.status)
        self.assertIn(b"10000\n", result.err)
        path = self.new_log()
        with open(path, "wb") as file:
            file.write(result.out)
        self.assertEqual(1, len(self.read_log(path).accesses))

    def test_reader_goes_away(self):
        with running([CLSRUN, "-w", "counter", "--every", "--",
                      target("counter")]) as process:
            self.assertIn(b"header", process.stdout.readline())
            process.stdout.close()
            # subprocess reads what is left of a pipe, not of a closed one
            process.stdout = None
            _, err = process.communicate(timeout=harness.TIMEOUT)
            self.assertEqual((0, True),
                             (process.returncode, b"10000\n" in err),
                             text(err))

    def test_log_is_private(self):
        path = self.new_log()
        run([CLSRUN, "-w", "counter", "--first", "-o", path, "--",
             target("counter")])
        self.assertEqual(0o600, os.stat(path).st_mode & 0o7777)


def functions(access):
    return [f.get("function") for f in access["stack"]]


class Stacks(Case):
    def test_recursion(self):
        result, log = self.traced([target("recursion")], "-w", "number", "-k",
                                  "--depth", "256", "--on", "write")
        self.assertEqual((0, b"1001 21\n"), (result.status, result.out))
        depths = []
        for access in log.accesses:
            functions = [f.get("function") for f in access["stack"]]
            self.assertEqual("down", functions[0])
            depth = functions.count("down")
            depths.append(depth)
            if "main" in functions:
                self.assertNotIn("stack_end", access)
            else:
                self.assertEqual((256, "truncated"),
                                 (len(functions), access["stack_end"]))
        # number is written at the depths that 50 divides
        self.assertEqual([1, 51, 101, 151, 201, 251], sorted(depths)[:6])
        self.assertEqual([256] * 15, sorted(depths)[6:])

    def test_source(self):
        """Inlined functions are frames, with the lines of the source."""
        result, log = self.traced([target("inlined")], "-w", "place", "-k")
        self.assertEqual(0, result.status, text(result.err))
        path = os.path.join(harness.TARGETS, "inlined.c")
        with open(path, encoding="utf-8") as file:
            lines = {line.split("/* ")[1].split(" */")[0]: number
                     for number, line in enumerate(file, 1)
                     if line.startswith("\t") and "/* " in line}
        stack = log.accesses[0]["stack"][:4]
        self.assertEqual([(name, lines[name], name in ("inner", "middle"))
                          for name in ("inner", "middle", "outer", "main")],
                         [(f["function"], f["line"], "inlined" in f)
                          for f in stack])
        for frame in stack:
            self.assertEqual("inlined.c", os.path.basename(frame["file"]))
        self.assertEqual(1, len({f["ip"] for f in stack[:3]}))

    def test_mini_debuginfo(self):
        """A stripped program that carries its symbols along, packed."""
        with tempfile.TemporaryDirectory() as work:
            bare, mini = os.path.join(work, "bare"), os.path.join(work, "mini")
            subprocess.run(["strip", "-o", bare, target("inlined")],
                           check=True)
            log = self.traced([bare], "-w", "map:data", "-k", "--every")[1]
            self.assertTrue(log.accesses)
            self.assertNotIn("main", sum(map(functions, log.accesses), []))
            for argv in (["strip", "--only-keep-debug", "-o", mini,
                          target("inlined")],
                         ["objcopy", "--strip-debug", mini]):
                subprocess.run(argv, check=True)
            with open(mini, "rb") as file:
                packed = lzma.compress(file.read())
            with open(mini, "wb") as file:
                file.write(packed)
            subprocess.run(["objcopy", "--add-section",
                            ".gnu_debugdata=" + mini, bare], check=True)
            log = self.traced([bare], "-w", "place", "-k")[1]
        self.assertEqual(["outer", "main"], functions(log.accesses[0])[:2])

    def test_jitted(self):
        """Code of no file, by the names that its maker wrote for perf."""
        result, log = self.traced([target("jit")], "-w", "place", "-k",
                                  "--every")
        self.assertEqual(0, result.status, text(result.err))
        self.assertEqual([["Shop.order(int)", "call", "main"],
                          ["Shop.order(int) v2", "call", "main"]],
                         [functions(a)[:3] for a in log.accesses[:2]])
        self.assertEqual([14, 14], [a["stack"][0]["offset"]
                                    for a in log.accesses[:2]])
        leaf = log.accesses[2]
        self.assertEqual(["Shop.leaf()", "Shop.total()", "call", "main"],
                         functions(leaf)[:4])
        self.assertEqual([False, True, True, False],
                         ["guessed" in f for f in leaf["stack"][:4]])

    def test_each_stack_once(self):
        """What the numbers stand for is what stands in the records."""
        argv, watch = [target("recursion")], ("-w", "number")
        inline = self.traced(argv, *watch, "--stacks=inline")[1]
        self.assertFalse(inline.of("stack"))
        numbered = self.traced(argv, *watch, "-k")[1]
        stacks = {s["id"]: [f["function"] for f in s["stack"]]
                  for s in numbered.of("stack")}
        self.assertLess(len(stacks), len(numbered.accesses))
        self.assertEqual([[f["function"] for f in a["stack"]]
                          for a in inline.accesses],
                         [stacks[a["stack_id"]] for a in numbered.accesses])
        self.assertEqual(list(range(1, len(stacks) + 1)), sorted(stacks))
        piped = run([CLSRUN, *watch, "-k", "--", *argv]).out.splitlines()
        self.assertIn(b'"stack":[', next(x for x in piped if b'"access"' in x))

    def test_verified_stacks(self):
        """Remembered stacks are libunwind's, and most frames are known."""
        result, log = self.traced([target("stacks")], "-w", "place", "--every",
                                  "--verify-stacks")
        self.assertEqual(0, result.status, text(result.err))
        stacks = log.summary["stacks"]
        self.assertEqual(len(log.accesses), stacks["walked"])
        self.assertEqual(0, stacks["mismatches"])
        frames = sum("inlined" not in f
                     for a in log.accesses for f in a["stack"])
        self.assertEqual(frames, stacks["fresh"] + stacks["reused"])
        self.assertGreater(stacks["reused"], stacks["fresh"])

    def test_stacks_of_turns(self):
        """A stack is not that of the event before only because it looks so."""
        for options in [], ["--verify-stacks"]:
            result, log = self.traced([target("turns")], "-w", "place",
                                      "--every", "-k", *options)
            self.assertEqual(0, result.status, text(result.err))
            self.assertGreater(log.summary["accesses"]["run_ahead"], 1000)
            self.assertEqual(0, log.summary["stacks"].get("mismatches", 0))
            names = [[f.get("function") for f in a["stack"]]
                     for a in log.accesses]
            touched = [n[1] for n in names if n[0] == "touch"]
            found = [n[1:2] == ["main"] for n in names
                     if n[0] == "found_by_rbx"]
            self.assertTrue(["one", "two"] * 400 == touched)
            self.assertTrue([True, True, False, False] * 200 == found)


def fixed_addresses():
    """In the child: the same addresses each time."""
    ADDR_NO_RANDOMIZE = 0x0040000
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


class RunAhead(Case):
    """What follows an access is run without a stop for each: the log must
    not tell the difference."""

    def both(self, argv, *options):
        runs = [self.traced(argv, "--every", *options, *more,
                            preexec_fn=fixed_addresses)
                for more in ([], ["--no-run-ahead"])]
        (one, ahead), (other, stopped) = runs
        self.assertEqual((other.status, other.out), (one.status, one.out),
                         text(one.err))
        self.assertEqual(0, stopped.summary["accesses"]["run_ahead"])
        return ahead, stopped

    def assert_same(self, ahead, stopped):
        # What differs from run to run in any case
        skip = {"time", "pid", "tid", "how"}
        for one, other in zip(ahead.accesses, stopped.accesses):
            self.assertEqual({k: v for k, v in other.items() if k not in skip},
                             {k: v for k, v in one.items() if k not in skip})
        self.assertEqual(len(stopped.accesses), len(ahead.accesses))
        counts = [log.summary["accesses"] for log in (ahead, stopped)]
        self.assertEqual(*[c["performed"] + c["run_ahead"] for c in counts])
        self.assertEqual(*[c["neighbours"] for c in counts])

    def assert_few_stops(self, log, share):
        self.assertLess(log.summary["faults"],
                        share * log.summary["events"])

    def test_same_events(self):
        logs = self.both([target("loops"), "plain"], "-w", "array")
        self.assert_same(*logs)
        self.assertGreater(len(logs[0].accesses), 5000)
        self.assert_few_stops(logs[0], 0.05)
        self.assertEqual({"native", "run_ahead"},
                         {a["how"] for a in logs[0].accesses})

    def test_neighbours(self):
        _, log = self.traced([target("loops"), "plain"], "-w", "array",
                             preexec_fn=fixed_addresses)
        start = log.of("armed")[-1]["ranges"][0]["start"]
        logs = self.both([target("loops"), "plain"], "-w", start + "+64")
        self.assert_same(*logs)
        self.assertGreater(logs[0].summary["accesses"]["neighbours"], 3000)

    def test_with_stacks(self):
        logs = self.both([target("recursion")], "-w", "number", "-k")
        self.assert_same(*logs)
        logs = self.both([target("loops"), "plain"], "-w", "array", "-k",
                         "--max-events", "2000")
        for one, other in zip(*[log.accesses for log in logs]):
            self.assertEqual(other["stack"], one["stack"])

    def test_whole_heap(self):
        for name in ("strings", "floats"):
            options, _ = harness.declared(name)
            self.assert_same(*self.both([target(name)], *options))

    def test_classes_of_what_was_just_stored(self):
        for options in ([], ["-k"]):
            logs = self.both([target("objects")], "-w", "storage", *options)
            self.assert_same(*logs)
            seen = [a["component"].get("class") for a in logs[0].accesses
                    if a["how"] == "run_ahead"]
            # Made as a Shape, then a Square, then a Cube; and back
            self.assertLessEqual({"Shape", "Square", "Cube"}, set(seen))
            self.assert_few_stops(logs[0], 0.3)

    def test_max_events_is_exact(self):
        for most in ("1", "2", "100", "1000"):
            result, log = self.traced([target("counter")], "-w", "counter",
                                      "--every", "--max-events", most)
            self.assertEqual((0, b"10000\n"), (result.status, result.out))
            self.assertEqual(list(range(1, int(most) + 1)),
                             [number(a["new"]) for a in log.accesses])
            self.assertEqual("max-events", log.summary["end"])

    def test_each_thread_goes_on(self):
        result, log = self.traced([target("loops"), "flag"], "-w", "array",
                                  "--every")
        self.assertEqual((0, b"seen\n"), (result.status, result.out))
        self.assertEqual(2, len({a["tid"] for a in log.accesses}))

    def test_signals_come_in_between(self):
        result, log = self.traced([target("loops"), "timer"], "-w", "array",
                                  "--every", "--max-events", "200000")
        self.assertEqual((0, b"all shots came\n"), (result.status, result.out))
        self.assert_few_stops(log, 0.5)

    def test_program_would_notice(self):
        """Nothing is run ahead once it can see its own accesses, or shares
        its memory with the kernel."""
        for kind in ("perf", "uring"):
            result, log = self.traced([target("watchers"), kind],
                                      "-w", "array", "--every")
            self.assertEqual(0, result.status)
            half = [[a["how"] for a in log.accesses
                     if (a["component"]["offset"] >= 2048) == after]
                    for after in (False, True)]
            self.assertEqual([256, 256], [len(hows) for hows in half])
            self.assertIn("run_ahead", half[0])
            if result.out == b"opened\n":
                self.assertNotIn("run_ahead", half[1], kind)

    def test_detached_in_the_midst(self):
        with running([target("loops"), "until"]) as process:
            self.assertEqual(b"ready\n", process.stdout.readline())
            for spell in ("0.05", "0.1", "0.2"):
                log = self.attach(process.pid, "-w", "array", "--every",
                                  "--duration", spell)
                self.assertEqual("duration", log.summary["end"])
                self.assert_few_stops(log, 0.1)
            out, _ = process.communicate(timeout=harness.TIMEOUT)
        self.assertEqual((0, b"done, 0 wrong\n"), (process.returncode, out))


def may_suspend_filters():
    """PTRACE_O_SUSPEND_SECCOMP: CAP_SYS_ADMIN, and no filter of our own."""
    with open("/proc/self/status") as file:
        status = dict(line.split(":\t", 1) for line in file)
    return (int(status["CapEff"], 16) >> 21 & 1
            and int(status.get("Seccomp", "0")) == 0)


class Kernel(Case):
    @unittest.skipUnless(may_suspend_filters(), "cannot suspend filters")
    def test_filter_of_a_thread(self):
        for kind in "--sample=20", "--every":
            result, log = self.traced([target("filtered")], "-w", "watched",
                                      kind)
            self.assertEqual((0, b"400\n"), (result.status, result.out))
            self.assertNotEqual([], log.accesses)

    def test_system_calls_are_events(self):
        _, log = self.traced([target("pipes")], "-w", "box", "--every")
        calls = {}
        for access in log.accesses:
            if access["by"] == "kernel":
                calls.setdefault(access["syscall"], []).append(access)
        self.assertLessEqual(
            {"read", "readv", "recvmsg", "write", "writev", "sendmsg"},
            set(calls))
        self.assertIn(("write", 1000), [(a["op"], a["size"])
                                        for a in calls["read"]])
        self.assertIn(("read", 1000), [(a["op"], a["size"])
                                       for a in calls["write"]])
        self.assertEqual(5400, sum(a["size"] for a in calls["readv"]
                                   if a["op"] == "write"))


if __name__ == "__main__":
    harness.main()
