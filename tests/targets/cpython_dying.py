# SPDX-License-Identifier: Apache-2.0
"""Objects of two classes that come and go, in the same memory by turns.

Prints which two objects those of each class alone refer to, waits for a line,
and goes on.
"""

import json
import sys


class Odd:
    __slots__ = ("one", "two")

    def __init__(self, value):
        self.one = self.two = value


class Even(list):
    __slots__ = ("three",)

    def __init__(self, value):
        self.append(value)
        self.three = value


def touch(rounds):
    for n in range(rounds):
        Odd(ODD), Odd(ODD)
        Even(EVEN), Even(EVEN)
        kept = [Odd(ODD) for _ in range(n % 3)]
    return len(kept)


ODD, EVEN = object(), object()
touch(3)
print(json.dumps({"__main__.Odd": id(ODD), "__main__.Even": id(EVEN)}),
      flush=True)
sys.stdin.readline()
print(json.dumps(touch(300)), flush=True)
