# SPDX-License-Identifier: Apache-2.0
"""Functions that touch a byte of a buffer, each from another place.

Prints the buffer's address, waits for a line, and prints for each byte the
stack that the interpreter itself told where it was touched: [file, line,
function], innermost first.
"""

import contextlib
import ctypes
import functools
import json
import sys
import threading
import traceback

SIZE = 4096
buffer = ctypes.create_string_buffer(SIZE)
address = ctypes.addressof(buffer)
fill = ctypes.CDLL(None).memset
fill.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
stacks = []


def note():
    stack = traceback.extract_stack()[:-1]
    stacks.append([[f.filename, f.lineno, f.name] for f in reversed(stack)])
    return address + len(stacks) - 1


def plain():
    fill(note(), 1, 1)


def recursive(n):
    return recursive(n - 1) if n else fill(note(), 1, 1)


def generator(n):
    for i in range(n):
        yield fill(note(), 1, 1)


def delegating(n):
    yield from generator(n)


class Thing:
    def method(self):
        fill(note(), 1, 1)

    @classmethod
    def of_class(cls):
        return cls().method()

    @property
    def attribute(self):
        return fill(note(), 1, 1)

    def __lt__(self, other):
        fill(note(), 1, 1)
        return False

    def __del__(self):
        fill(note(), 1, 1)


@contextlib.contextmanager
def context():
    fill(note(), 1, 1)
    yield
    fill(note(), 1, 1)


@functools.lru_cache(maxsize=None)
def cached(n):
    return functools.reduce(lambda a, b: fill(note(), 1, 1) and a,
                            range(n), 0)


async def coroutine():
    return fill(note(), 1, 1)


async def awaits():
    await coroutine()


def drive(work):
    with contextlib.suppress(StopIteration):
        work.send(None)


def caught():
    try:
        raise ValueError(
            fill(note(), 1, 1))
    except ValueError:
        fill(note(), 1, 1)
    finally:
        fill(note(),
             1,
             1)


def sources():
    """Code without a file, of which each may lie where the last one did."""
    for n in range(12):
        exec("\n" * n + "fill(note(), 1, 1)", globals())


def work():
    plain()
    for n in range(0, 40, 7):
        recursive(n)
    list(generator(3))
    list(delegating(3))
    Thing().method()
    Thing.of_class()
    Thing().attribute
    sorted([Thing(), Thing(), Thing()])
    with context():
        plain()
    cached(4)
    drive(awaits())
    caught()
    sources()
    [fill(note(), 1, 1) for _ in range(3)]
    (lambda: plain())()
    list(map(lambda n: recursive(n), range(3)))
    max([1, 2, 3], key=lambda n: fill(note(), 1, 1) and 0 or n)


print(address, flush=True)
sys.stdin.readline()
for _ in range(2):
    work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert len(stacks) <= SIZE
print(json.dumps(stacks), flush=True)
