#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The directions of docs/architecture.md, as a test.

    layers.py [ROOT]              check the sources below ROOT, print TAP
    layers.py --self-test [ROOT]  plant violations in a copy; each is found
"""

import os
import re
import shutil
import sys
import tempfile

BELOW = {"base", "disasm", "unwinder"}
TRACER = {"tracer/process", "tracer/event", "tracer/component", "tracer/guard"}

# A room and whom it knows beside itself.
ROOMS = {
    "base": set(),
    "disasm": {"base"},
    "unwinder": {"base"},
    "tracer/process": {"base"},
    "tracer/event": {"base"},
    "tracer/component": {"base", "tracer/process"},
    "tracer/guard": {"base", "disasm", "tracer/process"},
    "tracer": BELOW | TRACER,
    "cmd": BELOW | TRACER | {"tracer"},
}

# Who may do a dangerous thing: name, pattern in the code, files or rooms.
DOORS = [
    ("ptrace",
     r"\bptrace\s*\(|\bsyscall\s*\(\s*(SYS|__NR)_ptrace\b",
     {"tracer/process/ptrace.c"}),
    ("waiting",
     r"\b(waitpid|waitid|wait3|wait4)\s*\(|\bwait\s*\(\s*(&|NULL)"
     r"|\bsyscall\s*\(\s*(SYS|__NR)_wait",
     {"tracer/process/stop.c"}),
    ("exit",
     r"\b(exit|_exit|_Exit|quick_exit|exit_group|abort)\s*\(",
     {"cmd", "tracer/spawn.c"}),
    ("printing",
     r"\b(v?printf|puts|putchar|perror|psignal|psiginfo|v?warnx?|v?errx?)\s*\("
     r"|\bstderr\b|\bv?dprintf\s*\(\s*[12]\b",
     {"cmd"}),
]

# The same for libraries, in #include.
LIBRARIES = [
    ("Capstone", r"capstone/", {"disasm/names.c"}),
    ("libunwind", r"libunwind", {"unwinder/cold.c"}),
    ("libelf", r"(libelf|gelf|nlist)\.h|elfutils/(?!libdw\.h)|libelf/",
     {"tracer/process/elf.c"}),
    # One Dwarf of a file, begun by lines.c: lines of it, types and variables.
    ("libdw", r"dwarf\.h|elfutils/libdw\.h",
     {"tracer/process/scopes.h", "tracer/process/types_private.h"}),
    ("liblzma", r"lzma\.h|lzma/", {"tracer/process/minidebug.c"}),
    ("libiberty", r"(.*/)?demangle\.h|libiberty",
     {"tracer/process/demangle.c"}),
    ("oracles of the tests", r"Zydis|cmocka|json-c", set()),
]

FUNCTION_LINES = 60
FILE_LINES = 400

RULES = ["directions", "libraries", "doors", "function length", "file length",
         "house style"]


def strip(text):
    """Comments and literals become blanks; lines stay where they are."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token[0] + " " * (len(token) - 2) + token[0]
        return re.sub(r"[^\n]", " ", token)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
                  r"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def sources(root):
    for room in sorted({r.split("/")[0] for r in ROOMS}):
        for top, dirs, names in os.walk(os.path.join(root, room)):
            dirs.sort()
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(top, name), root)


def may(path, allowed):
    return path in allowed or os.path.dirname(path) in allowed


def check_includes(path, text, found):
    room = os.path.dirname(path)
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        ours, name = match.group(1) == '"', match.group(2)
        target = os.path.dirname(name)
        if ours and target not in ROOMS:
            found("directions", number, f"{name} is not in a room; headers "
                  "are named from the root")
        elif ours and target != room and target not in ROOMS[room]:
            found("directions", number, f"{room} must not know {name}")
        for library, pattern, allowed in LIBRARIES:
            if not ours and re.match(pattern, name) and \
               not may(path, allowed):
                found("libraries", number, f"{library} ({name}) is known "
                      f"only by {', '.join(sorted(allowed)) or 'tests'}")


def check_doors(path, code, found):
    for name, pattern, allowed in DOORS:
        if may(path, allowed):
            continue
        for match in re.finditer(pattern, code):
            found("doors", code.count("\n", 0, match.start()) + 1,
                  f"{name}: '{match.group(0).strip()}' belongs to "
                  f"{', '.join(sorted(allowed))}")


def check_lengths(code, found):
    lines = code.rstrip("\n").split("\n")
    if len(lines) > FILE_LINES:
        found("file length", len(lines), f"{len(lines)} lines, the limit is "
              f"{FILE_LINES}")
    start = None
    for number, line in enumerate(lines, 1):
        # clang-format puts the braces of functions, and no others, here
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            if number - start - 1 > FUNCTION_LINES:
                found("function length", start, f"{number - start - 1} lines, "
                      f"the limit is {FUNCTION_LINES}")
            start = None


def check_style(path, text, code, found):
    if not re.match(r"/\* SPDX-License-Identifier: Apache-2\.0 \*/\n", text):
        found("house style", 1, "the first line is not the SPDX line")
    if path.endswith(".h"):
        noun = re.escape(os.path.basename(path)[:-2]).replace("_", "[_ -]")
        if "#pragma once" not in text:
            found("house style", 1, "no #pragma once")
        if not re.search(r"/\*\n \* " + noun + r" - \S", text):
            found("house style", 1, 'does not open with "noun - what it is"')
    if re.search(r"//", re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text,
                               flags=re.S)):
        found("house style", 1, "a // comment")
    for match in re.finditer(r"\btypedef\s+(struct|union)\b", code):
        found("house style", code.count("\n", 0, match.start()) + 1,
              "a typedef hides a struct")


def check(root):
    """All violations: [(rule, path, line, words)]."""
    result = []
    count = 0
    for path in sources(root):
        count += 1
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        code = strip(text)

        def found(rule, line, words, path=path):
            result.append((rule, path, line, words))

        if os.path.dirname(path) not in ROOMS:
            found("directions", 1, "is in no room of docs/architecture.md")
            continue
        check_includes(path, text, found)
        check_doors(path, code, found)
        check_lengths(code, found)
        check_style(path, text, code, found)
    return count, result


SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
HEAD = SPDX + "#pragma once\n\n/*\n * planted - a header\n */\n"


def function(lines):
    return "int f(void)\n{\n" + "\tg();\n" * lines + "}\n"


# What is planted: rule (None: nothing may be found), file, its text.
PLANTS = [
    ("directions", "base/planted.c", '#include "tracer/options.h"\n'),
    ("directions", "disasm/planted.c", '#include "unwinder/unwinder.h"\n'),
    ("directions", "unwinder/planted.c", '#include "disasm/insn.h"\n'),
    ("directions", "unwinder/planted.c",
     '#include "tracer/process/maps.h"\n'),
    ("directions", "tracer/planted.c", '#include "cmd/cli.h"\n'),
    ("directions", "tracer/process/planted.c",
     '#include "tracer/guard/spec.h"\n'),
    ("directions", "tracer/process/planted.c",
     '#include "tracer/tracer.h"\n'),
    ("directions", "tracer/component/planted.c",
     '#include "tracer/event/event.h"\n'),
    ("directions", "tracer/guard/planted.c",
     '#include "tracer/component/component.h"\n'),
    ("directions", "tracer/event/planted.c", '#include "disasm/access.h"\n'),
    ("directions", "tracer/event/planted.c",
     '#include "tracer/process/maps.h"\n'),
    ("directions", "cmd/planted.c", '#  include "../base/macro.h"\n'),
    ("directions", "tracer/attic/planted.c", ""),
    ("libraries", "disasm/planted.c", "#include <capstone/capstone.h>\n"),
    ("libraries", "unwinder/planted.c", "#include <libunwind-ptrace.h>\n"),
    ("libraries", "tracer/process/planted.c", "#include <gelf.h>\n"),
    ("libraries", "tracer/component/planted.c",
     "#include <libiberty/demangle.h>\n"),
    ("libraries", "cmd/planted.c", "#include <cmocka.h>\n"),
    ("doors", "tracer/planted.c", "ptrace (PTRACE_CONT, tid, 0, 0);\n"),
    ("doors", "tracer/planted.c", "syscall(SYS_ptrace, 7, tid);\n"),
    ("doors", "tracer/process/planted.c", "waitpid(-1, &status, __WALL);\n"),
    ("doors", "cmd/planted.c", "wait(NULL);\n"),
    ("doors", "tracer/guard/planted.c", "_exit(1);\n"),
    ("doors", "base/planted.c", "abort();\n"),
    ("doors", "tracer/planted.c", 'printf("hello");\n'),
    ("doors", "unwinder/planted.c", 'fprintf(stderr, "hello");\n'),
    ("doors", "tracer/planted.c", 'dprintf(2, "hello");\n'),
    ("function length", "cmd/planted.c", function(FUNCTION_LINES + 1)),
    ("file length", "cmd/planted.c", "int x;\n" * FILE_LINES),
    ("house style", "base/planted.c", "typedef struct a b;\n"),
    ("house style", "base/planted.c", "int x; // a comment\n"),
    ("house style", "base/planted.h", "#pragma once\n"),
    (None, "tracer/planted.c",
     "/* ptrace(2) never\n * exit(1) */\n"
     'const char *s = "printf(\\"x\\") stderr ptrace(";\n'
     "int my_ptrace(void);\nint x = stop_wait(&y);\n"),
    (None, "tracer/guard/planted.c",
     '#include "disasm/access.h"\n#include "tracer/process/maps.h"\n'
     "snprintf(a, 2, b);\nfprintf(file, c);\n"),
    (None, "cmd/planted.c", function(FUNCTION_LINES) + "exit(1);\n"),
    (None, "cmd/planted.h", ""),
    (None, "tracer/spawn.c", "_exit(127);\n"),
]


def tap(number, good, name, notes):
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    for note in notes:
        print(f"# {note}")
    return good


def run(root):
    count, result = check(root)
    print(f"1..{len(RULES) + 1}")
    # A wrong ROOT must not pass for a clean one.
    good = tap(1, count > 20, "there are sources", [f"{count} files"])
    for number, rule in enumerate(RULES, 2):
        notes = [f"{path}:{line}: {words}" for r, path, line, words in result
                 if r == rule]
        good &= tap(number, not notes, rule, notes)
    return good


def plant(root, path, text):
    """What is found in the planted file, in a copy of the rooms."""
    with tempfile.TemporaryDirectory(prefix="cls-layers-") as copy:
        for room in {r.split("/")[0] for r in ROOMS}:
            shutil.copytree(os.path.join(root, room),
                            os.path.join(copy, room))
        os.makedirs(os.path.dirname(os.path.join(copy, path)), exist_ok=True)
        head = HEAD if path.endswith(".h") else SPDX
        with open(os.path.join(copy, path), "w", encoding="utf-8") as file:
            file.write((head if "#pragma" not in text else SPDX) + text)
        return [v for v in check(copy)[1] if v[1] == path]


def self_test(root):
    print(f"1..{len(PLANTS)}")
    good = True
    for number, (rule, path, text) in enumerate(PLANTS, 1):
        found = plant(root, path, text)
        # One plant, one kind of violation: no rule answers for another.
        right = {v[0] for v in found} == ({rule} if rule else set())
        words = text.split("\n")[0][:40] or "(empty)"
        good &= tap(number, right, f"{rule or 'fine'}: {path}: {words}",
                    [] if right else [f"found {found}"])
    return good


def main(arguments):
    planting = "--self-test" in arguments
    rest = [a for a in arguments if a != "--self-test"]
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = rest[0] if rest else here
    return 0 if (self_test if planting else run)(root) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
