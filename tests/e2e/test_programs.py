#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs as Debian ships them, bare and under clsrun's default watch: the
same output, the same end, the same files.  They fault on purpose, fork, exec
and have dozens of threads; their children are let go, whole."""

import os
import pwd
import shutil
import unittest

import harness
from harness import Case, run, text

JAVA = """
public class Busy {
    static class Box { int value; }
    static int take(Box box) { return box.value; }

    public static void main(String[] arguments) throws Exception {
        long[] sums = new long[4];
        Thread[] threads = new Thread[4];
        for (int t = 0; t < 4; t++) {
            final int me = t;
            threads[t] = new Thread(() -> {
                Box box = new Box();
                for (int i = 0; i < 50000; i++) {
                    box.value = i;
                    try {
                        sums[me] += take(i % 7 == 0 ? null : box);
                    } catch (NullPointerException e) {
                        sums[me] += 1;
                    }
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads)
            thread.join();
        java.util.List<byte[]> kept = new java.util.ArrayList<>();
        for (int i = 0; i < 200; i++) {
            kept.add(new byte[10000]);
            if (i % 50 == 0)
                System.gc();
        }
        System.out.println(java.util.Arrays.toString(sums) + kept.size());
        System.exit(kept.size() == 200 ? 5 : 6);
    }
}
"""

NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
const child = require('child_process');
if (!isMainThread) {
  let sum = 0;
  for (let i = 0; i < 1e6; i++) sum = (sum * 31 + i) | 0;
  parentPort.postMessage(sum);
} else {
  const all = {};
  for (let i = 0; i < 50000; i++) all['k' + i % 1000] = { i, s: 'x' + i };
  const text = JSON.stringify(all);
  console.log(text.length);
  console.log(child.execSync('echo child').toString());
  let ended = 0;
  for (let i = 0; i < 3; i++)
    new Worker(__filename).on('message', sum => {
      console.log(sum);
      if (++ended == 3) process.exitCode = 4;
    });
}
"""

PYTHON = """
import hashlib, json, os, subprocess, threading
sums = [0] * 4
def work(me):
    for i in range(me * 1000, me * 1000 + 1000):
        sums[me] += hashlib.sha256(b"%d" % i).digest()[0]
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sums, flush=True)
print(subprocess.run(["echo", "child"], capture_output=True).stdout,
      flush=True)
table = {str(i): [i, str(i)] for i in range(20000)}
print(len(json.dumps(json.loads(json.dumps(table)))), flush=True)
if os.fork() == 0:
    print(sum(value[0] for value in table.values()), flush=True)
    os._exit(3)
print(os.wait()[1])
"""

SHELL = """
numbers() {
    for i in 1 2 3 4 5 6 7 8 9 10; do
        x=$(echo $i | sed s/1/2/)
        s=$s$x
    done
    echo "$s" | md5sum
}
numbers
(numbers)
numbers | cat
trap 'echo told' USR1
kill -USR1 $$
for i in 1 2 3; do sleep 0.05 & done
wait
cat <<<here
coproc cat
echo back >&"${COPROC[1]}"
read -r x <&"${COPROC[0]}"
echo "$x"
exit 7
"""


def needs(program):
    return unittest.skipUnless(shutil.which(program), "no " + program)


def files(directory, ignored=()):
    """Every file below @directory, with its bytes."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            if name not in ignored:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, directory)] = file.read()
    return found


class Programs(Case):
    def write(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content)
        return self.path(name)

    def same(self, argv, status):
        bare = run(argv)
        self.assertEqual(status, bare.status, text(bare.err))
        result, log = self.traced(argv, "-q")
        self.assertEqual((status, text(bare.out), text(bare.err)),
                         (result.status, text(result.out), text(result.err)))
        self.assertNotEqual([], log.accesses, "no access was seen")

    @needs("javac")
    def test_java(self):
        source = self.write("Busy.java", JAVA)
        classes = [self.path(name) for name in ("bare", "traced")]
        self.assertEqual(0, run(["javac", "-d", classes[0], source]).status)
        result, _ = self.traced(["javac", "-d", classes[1], source], "-q")
        self.assertEqual(0, result.status, text(result.err))
        self.assertEqual(files(classes[0]), files(classes[1]))
        # as many collector threads as elsewhere, and few of each
        self.same(["java", "-XX:ParallelGCThreads=2", "-cp", classes[0],
                   "Busy"], 5)

    @needs("node")
    def test_node(self):
        self.same(["node", self.write("busy.js", NODE)], 4)

    def test_python(self):
        self.same(["/usr/bin/python3", self.write("busy.py", PYTHON)], 0)

    @needs("bash")
    def test_bash(self):
        self.same(["bash", self.write("busy.sh", SHELL)], 7)

    @needs("git")
    def test_git_clone(self):
        origin = self.path("origin")
        os.mkdir(origin)
        for i in range(100):
            self.write("origin/file%d" % i, "line %d\n" % i * i)
        git = ["git", "-C", origin, "-c", "user.name=a", "-c", "user.email=b"]
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
            self.assertEqual(0, run(git + words).status, words)
        for i, url in enumerate([origin, "file://" + origin]):
            copy = self.path("copy%d" % i)
            result, _ = self.traced(["git", "clone", "-q", "--no-hardlinks",
                                     url, copy], "-q")
            self.assertEqual((0, b"", b""),
                             (result.status, result.out, result.err))
            self.assertEqual(0, run(["git", "-C", copy, "fsck",
                                     "--strict"]).status)
            self.assertEqual(b"", run(["git", "-C", copy, "status",
                                       "--short"]).out)
            shutil.rmtree(os.path.join(copy, ".git"))
            self.assertEqual(files(copy), {
                name: data for name, data in files(origin).items()
                if not name.startswith(".git/")})

    @needs("initdb")
    def test_initdb(self):
        """Its output, and what a server that reads the files says."""
        nobody = pwd.getpwnam("nobody")
        drop = {}
        if os.geteuid() == 0:  # which initdb refuses to run as
            drop = {"user": nobody.pw_uid, "group": nobody.pw_gid,
                    "extra_groups": []}
            os.chown(self.directory, nobody.pw_uid, nobody.pw_gid)
        data = self.path("data")
        initdb = [os.path.realpath(shutil.which("initdb")), "-A", "trust",
                  "-D", data]
        options = {"cwd": self.directory, **drop}
        bare = run(initdb, **options)
        names = sorted(files(data))
        shutil.rmtree(data)
        result, _ = self.traced(initdb, "-q", **options)
        self.assertEqual((0, text(bare.out), text(bare.err)),
                         (result.status, text(result.out), text(result.err)))
        self.assertEqual(names, sorted(files(data)))
        postgres = os.path.join(os.path.dirname(initdb[0]), "postgres")
        answer = run([postgres, "--single", "-D", data, "postgres"],
                     b"SELECT count(*) > 200 AS whole FROM pg_class\n",
                     **options)
        self.assertIn('whole = "t"', text(answer.out), text(answer.err))


if __name__ == "__main__":
    harness.main()
