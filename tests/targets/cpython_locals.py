# SPDX-License-Identifier: Apache-2.0
"""What of Python lies in no object: variables of functions, what the module re
may go back to, and the keys that the objects of a class share.

Prints where two objects lie that only hold() has in its variables, waits for a
line, and goes on.
"""

import json
import re
import sys


class Many:
    def __init__(self):
        self.one = self.two = self.three = 1


def hold(one, other):
    for _ in range(10):
        first = one
        second = other
        third = first
    return second, third


def touch():
    hold(FIRST, SECOND)
    for name in "one", "two", "three":
        getattr(many, name)
    return len(re.findall(r"((?:\w|\d)+) (x|b+)", "aab bbb aab xx " * 3))


FIRST, SECOND = object(), object()
many = Many()
touch()
print(json.dumps([id(FIRST), id(SECOND)]), flush=True)
sys.stdin.readline()
for _ in range(10):
    many = Many()
    result = touch()
print(json.dumps(result), flush=True)
