#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""System calls of which only the kernel knows what they write."""

import harness
from harness import Case, run, target

PAGE = 4096
HEAD = 192  # struct fsmap_head, without its array


class Extent(Case):
    def log_of(self, *options):
        bare = run([target("extent")])
        result, log = self.traced([target("extent")], *options)
        self.assertEqual((0, bare.out), (result.status, result.out),
                         result.err)
        self.out = result.out
        return log

    def compared(self, log, name):
        return [a for a in log.accesses if a.get("how") == "compared"
                and a["syscall"] == name]

    def test_writes_are_found_by_comparing(self):
        log = self.log_of("-w", "box")
        start = int(log.of("armed")[0]["ranges"][0]["start"], 16)

        def runs(name):
            return [(int(a["addr"], 16) - start, a["size"], a["old"], a["new"])
                    for a in self.compared(log, name)]

        # 64 buffers are known: the vector itself, and 63 that it names.
        self.assertEqual([(16 * i, 4, "0x00000000", "0x76767676")
                          for i in range(63, 100)], runs("readv"))
        known = [a for a in log.accesses if a.get("syscall") == "readv"
                 and "how" not in a and a["op"] == "write"]
        self.assertEqual(63, len(known))
        # the NUL at its end was there
        self.assertEqual([(PAGE - 4, 7, "00" * 7, b"itself!".hex())],
                         runs("process_vm_writev"))
        self.assertEqual([(PAGE + 64, 9, "00" * 9, "010102020303040455")],
                         runs("semctl"))
        self.assertEqual(
            {"what readv reads in memory is not known": 1,
             "what process_vm_writev reads in memory is not known": 2,
             "what semctl reads in memory is not known": 2},
            {u["reason"]: u["count"] for u in log.summary["unseen"]})

    def test_of_an_array_behind(self):
        log = self.log_of("-w", "map", "--every")
        self.assertEqual(
            {"what ioctl reads in memory is not known": 1},
            {u["reason"]: u["count"] for u in log.summary["unseen"]
             if "ioctl" in u["reason"]})
        start = int(log.of("armed")[0]["ranges"][0]["start"], 16)
        if int(self.out.split(b",")[0]):
            self.assertNotEqual([], [a for a in self.compared(log, "ioctl")
                                     if int(a["addr"], 16) >= start + HEAD])

    def test_of_too_much_memory_they_are_counted(self):
        log = self.log_of("--every", "-w", "map:bss", "-w", "huge")
        self.assertEqual([], [a for a in log.accesses
                              if a.get("how") == "compared"])
        unseen = {u["reason"]: u["count"] for u in log.summary["unseen"]}
        self.assertEqual(
            1, unseen["what readv touches in memory is not known"])

    def test_of_a_long_change_of_the_map(self):
        """What others do meanwhile is not seen, and that is told."""
        argv = [target("populate")]
        result, log = self.traced(argv, "--every", "-w", "map:anon")
        self.assertEqual((0, b"populated\n"), (result.status, result.out))
        self.assertEqual(
            [("pages were open to all threads during madvise", 1)],
            [(u["reason"], u["count"]) for u in log.summary["unseen"]])

    def test_left_out_with_all_system_calls(self):
        log = self.log_of("-w", "box", "--no-syscalls")
        self.assertEqual([], [a for a in log.accesses
                              if a["by"] == "kernel"])


if __name__ == "__main__":
    harness.main()
