#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--list: all objects by class, beside what each program counts itself.

$CLS_COLLECTORS are those of Java, "Serial Parallel G1" by default the last.
"""

import json
import os
import resource
import shutil
import unittest

import harness
from harness import CLSATTACH, Case, run, running, text

# root without the right to raise a hard limit
HUMBLE = (["setpriv", "--bounding-set", "-sys_resource"]
          if os.geteuid() == 0 else [])
COLLECTORS = os.environ.get("CLS_COLLECTORS", "G1").split()


def jdk(name):
    """A program of $JAVA_HOME, or of the JDK that the path has; None: none."""
    home = os.environ.get("JAVA_HOME")
    java = home and os.path.join(home, "bin", "java") or shutil.which("java")
    path = java and os.path.join(os.path.dirname(os.path.realpath(java)), name)
    return path if path and os.path.exists(path) else None


class Listed(Case):
    def list(self, pid, *options):
        """The log of a process that runs, and goes on."""
        path = self.new_log()
        done = run([CLSATTACH, "--list", "-p", str(pid), "-o", path, *options])
        self.assertEqual(0, done.status, text(done.err))
        log = self.read_log(path)
        self.assertEqual("listed", log.summary["end"])
        listed = log.of("class")
        self.assertEqual(sorted((r["bytes"] for r in listed), reverse=True),
                         [r["bytes"] for r in listed])
        total = log.summary["list"]
        self.assertEqual(
            (len(listed), sum(r["count"] for r in listed)),
            (total["classes"], total["objects"]))
        return log

    def classes(self, log, runtime):
        return {r["class"]: (r["count"], r["bytes"])
                for r in log.of("class") if r["runtime"] == runtime}

    def refused(self, word, *argv):
        done = run([CLSATTACH, "--list", *argv])
        self.assertEqual(125, done.status)
        self.assertIn(word, text(done.err))
        self.assertEqual(b"", done.out)

    def ask(self, process):
        """Lines up to "ready"."""
        return [text(line).split() for line in
                iter(process.stdout.readline, b"ready\n")]

    def ends(self, process, out):
        got, err = process.communicate(b"x\n", harness.TIMEOUT)
        self.assertEqual((0, out), (process.returncode, got), err)


class Cxx(Listed):
    def test_exact(self):
        with running([harness.target("census"), "3"]) as process:
            truth = {name: (int(count), int(count) * int(size))
                     for name, count, size in self.ask(process)}
            log = self.list(process.pid)
            self.assertIs(True, log.records[0]["options"]["list"])
            seen = self.classes(log, "c++")
            self.assertEqual(truth, {name: seen[name] for name in truth})
            self.assertLess(seen.get("Animal", (0, 0))[0], 300)
            self.ends(process, b"120\n")

    def test_chosen(self):
        with running([harness.target("census"), "1"]) as process:
            truth = {name: int(count) for name, count, _ in self.ask(process)}
            log = self.list(process.pid, "-w", "class:Du*", "-w",
                            "class:Snake")
            self.assertEqual({n: truth[n] for n in ("Duck", "Snake")},
                             {r["class"]: r["count"] for r in log.of("class")})
            log = self.list(process.pid, "-w", "class:Cat")
            self.assertEqual([("Cat", truth["Cat"])], [
                (r["class"], r["count"]) for r in log.of("class")])
            log = self.list(process.pid, "--runtime", "none")
            self.assertEqual([], log.of("class"))
            self.ends(process, b"120\n")

    def test_large(self):
        """So much that several threads copy it."""
        with running([harness.target("census"), "300"]) as process:
            truth = {name: int(count) for name, count, _ in self.ask(process)}
            log = self.list(process.pid)
            total = log.summary["list"]
            print("# %d MB copied, stopped %.0f ms, looked through at %.2f "
                  "GB/s" % (total["copied"] >> 20,
                            log.summary["stopped"] * 1000,
                            total["scanned"] / 1e9 / total["seconds"]))
            self.assertEqual(truth, {n: self.classes(log, "c++")[n][0]
                                     for n in truth})
            self.ends(process, b"120\n")

    @unittest.skipIf(harness.BRIEF, "sanitizers map more than any limit")
    def test_too_large(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (150 << 20, 150 << 20))
        with running([harness.target("census"), "1000"]) as process:
            self.ask(process)
            done = run([*HUMBLE, CLSATTACH, "--list", "-p",
                        str(process.pid)], preexec_fn=limit)
            self.assertEqual((125, b""), (done.status, done.out))
            self.assertRegex(text(done.err), "process %d has [0-9]+ MiB.*ulimit"
                             % process.pid)
            self.ends(process, b"120\n")

    def test_refused(self):
        self.refused("-w class:GLOB", "-w", "map:heap", "-p", "1")
        self.refused("takes no", "--every", "-p", "1")
        self.refused("takes no", "-k", "-p", "1")


class Python(Listed):
    # The types of what the collector knows, before a list is made of them.
    SCRIPT = """
import collections, gc, sys
class Order:
    def __init__(self, n):
        self.items = [n, str(n)]
        self.by = {"n": n}
class Line:
    __slots__ = ("a", "b")
    def __init__(self):
        self.a, self.b = (1, self), {1, 2}
kept = [Order(i) for i in range(3000)], [Line() for i in range(2000)]
def name(t):
    return (t.__qualname__ if t.__module__ == "builtins" else
            t.__module__ + "." + t.__qualname__)
gc.collect()
gc.disable()
count = collections.Counter(map(type, gc.get_objects()))
for t, n in count.items():
    print(name(t).replace(" ", "_"), n)
print("ready", flush=True)
print(len(sys.stdin.readline()))
"""

    @unittest.skipUnless(os.path.exists("/usr/bin/python3"), "no python3")
    def test_tracked(self):
        with running(["/usr/bin/python3", "-c", self.SCRIPT]) as process:
            truth = {name: int(count) for name, count in self.ask(process)}
            seen = self.classes(self.list(process.pid), "cpython")
            self.ends(process, b"2\n")
        # What is only counted when it has references is not all it has.
        for name in ("__main__.Order", "__main__.Line", "list", "set",
                     "module", "function", "cell"):
            count, bytes = seen[name]
            self.assertLessEqual(abs(count - truth[name]),
                                 max(2, truth[name] * 0.01), name)
            self.assertGreaterEqual(bytes, count * 16)


class Others(Listed):
    RUBY = """
class Order; def initialize(n) @n = n.to_s; @a = [n] end end
class Line; def initialize; @x = {1 => 2} end end
$kept = (0...3000).map { |i| Order.new(i) } + (0...500).map { Line.new }
GC.start
GC.disable
[Order, Line, Hash, Proc, Regexp].each do |c|
  puts "#{c} #{ObjectSpace.each_object(c).count}"
end
puts "ready"
$stdout.flush
puts gets.size
"""
    NODE = """
class Order { constructor(n) { this.n = n; this.a = [n]; } }
class Line { constructor(n) { this.x = {n}; } }
let kept = [];
for (let i = 0; i < 3000; i++) {
    kept.push(new Order(i));
    if (i % 3 == 0)
        kept.push(new Line(i));
}
console.log("Order 3000\\nLine 1000\\nready");
process.stdin.once("data", (d) => {
    console.log(d.length);
    process.exit(0);
});
"""

    def counted(self, runtime, *argv):
        if not os.path.exists(argv[0]):
            self.skipTest("no " + argv[0])
        with running(argv) as process:
            truth = {name: int(count) for name, count in self.ask(process)}
            seen = self.classes(self.list(process.pid), runtime)
            self.ends(process, b"2\n")
        self.assertEqual(truth, {name: seen[name][0] for name in truth})

    def test_ruby(self):
        self.counted("ruby", "/usr/bin/ruby", "-e", self.RUBY)

    def test_javascript(self):
        self.counted("v8", "/usr/bin/node", "-e", self.NODE)

    def test_gobject(self):
        path = harness.target("gobjects")
        if not os.path.exists(path):
            self.skipTest("built without gobject-2.0")
        starts = {}
        with running([path, "1"]) as process:
            for line in iter(process.stdout.readline, b"end\n"):
                _, name, _, _, start, _ = text(line).split("\t")
                starts.setdefault(name, set()).add(start)
            seen = self.classes(self.list(process.pid), "gobject")
        self.assertEqual({name: len(at) for name, at in starts.items()},
                         {name: count for name, (count, _) in seen.items()
                          if name.startswith("Zoo")})


@unittest.skipUnless(jdk("javac") and jdk("jmap"), "no JDK")
class Java(Listed):
    SOURCE = """
import java.util.*;
public class Census {
    static class Order { int number; String name; Object[] lines; }
    static List<Object> kept = new ArrayList<>();
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 20000; i++) {
            Order order = new Order();
            order.name = "order " + i;
            order.lines = new Object[i % 7];
            kept.add(order);
            kept.add(Map.of(i, new HashMap<>(Map.of(1, i))));
        }
        System.out.println("ready");
        System.out.flush();
        System.in.read();
    }
}
"""

    def compiled(self):
        path = self.path("Census.java")
        with open(path, "w") as file:
            file.write(self.SOURCE)
        done = run([jdk("javac"), "-d", self.directory, path])
        self.assertEqual(0, done.status, done.err)

    def histogram(self, pid):
        """class -> (count, bytes), as jmap prints the heap."""
        names = {"Z": "boolean", "B": "byte", "C": "char", "S": "short",
                 "I": "int", "J": "long", "F": "float", "D": "double"}
        out = run([jdk("jmap"), "-histo", str(pid)]).out
        found = {}
        for line in text(out).splitlines():
            part = line.split()
            if len(part) < 4 or not part[0].endswith(":"):
                continue
            name = part[3]
            depth = len(name) - len(name.lstrip("["))
            name = name.lstrip("[")
            if depth:
                name = names.get(name) or name[1:].rstrip(";")
            found[name + "[]" * depth] = (int(part[1]), int(part[2]))
        return found

    def compare(self, collector):
        argv = [jdk("java"), "-Xmx64m", "-Xms64m", "-XX:+Use%sGC" % collector,
                "-cp", self.directory, "Census"]
        with running(argv) as java:
            self.ask(java)
            before = self.histogram(java.pid)
            seen = self.classes(self.list(java.pid), "hotspot")
            after = self.histogram(java.pid)
            self.ends(java, b"")
        # jmap makes objects of its own: what both times told is compared.
        truth = {name: both for name, both in before.items()
                 if after.get(name) == both}
        wrong = {name: (both, seen.get(name)) for name, both in truth.items()
                 if abs(seen.get(name, (0, 0))[0] - both[0]) > both[0] * 0.01}
        self.assertGreater(len(truth), 100)
        self.assertLessEqual(len(wrong), len(truth) * 0.01, wrong)
        # It fills what threads have taken and not used yet.
        for filler in "int[]", "jdk.internal.vm.FillerElement[]":
            truth.pop(filler, None)
        large = [n for n in sorted(truth, key=lambda n: -truth[n][1])
                 if truth[n][1] > 10000]
        self.assertEqual([(n, truth[n]) for n in large],
                         [(n, seen[n]) for n in sorted(
                             large, key=lambda n: -seen[n][1])])

    def test_jmap(self):
        self.compiled()
        for collector in COLLECTORS:
            with self.subTest(collector):
                self.compare(collector)


if __name__ == "__main__":
    harness.main()
