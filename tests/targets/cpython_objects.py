# SPDX-License-Identifier: Apache-2.0
"""Objects of many kinds, and where they lie.

Prints the claims of tests/e2e/truth.py as one line of JSON, waits for a line,
and touches them again and again; prints a sum.  Where members lie is found by
looking for the addresses of their values, not by any table of offsets.
"""

import collections
import ctypes
import gc
import json
import sys

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
WORD = 8


class Order:
    def __init__(self, n):
        self.customer = "customer %d" % n
        self.number = 1000000 + n
        self.price = n + 0.5

    def total(self):
        return self.number + self.price + len(self.customer)


class Line:
    __slots__ = ("first", "second", "__third")

    def __init__(self, n):
        self.first, self.second = 2000000 + n, n + 0.25
        self.__third = "t%d" % n

    def total(self):
        return self.first + self.second + len(self.__third)


class Stack(list):
    pass


class Shop:
    class Inner:
        def __init__(self, n):
            self.only = 3000000 + n


def local():
    class Hidden(Order):
        pass
    return Hidden


Hidden = local()
Made = type("Made", (), {"__slots__": tuple("m%d" % i for i in range(70))})


def words(addr, size):
    return (ctypes.c_uint64 * (size // WORD)).from_address(addr)


def find(addr, size, value):
    """Where the address of @value lies, once, in memory; or None."""
    found = [addr + WORD * i for i, word in enumerate(words(addr, size))
             if word == id(value)]
    return found[0] if len(found) == 1 else None


claims = []


def qualified(kind):
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return kind.__module__ + "." + kind.__qualname__


def claim(start, end, kind, members):
    claims.append({"start": start, "end": end, "class": qualified(kind),
                   "members": members})


def size_of(obj):
    """Without what lies in blocks of its own."""
    if isinstance(obj, (list, dict, set)):
        return type(obj).__basicsize__
    return obj.__sizeof__()


def claim_object(obj, **values):
    """@values: what its members hold."""
    start, size = id(obj), size_of(obj)
    members = [[start, start + 8, "ob_refcnt"],
               [start + 8, start + 16, "ob_type"]]
    for name, value in values.items():
        at = find(start, size // WORD * WORD, value)
        if at:
            members.append([at, at + WORD, name])
    claim(start, start + size, type(obj), members)


def claim_values(obj):
    """Attributes, where 3.11 and 3.12 have them in a block of their own."""
    if sys.version_info[:2] == (3, 11):
        values = words(id(obj) - 32, 8)[0]
    elif sys.version_info[:2] == (3, 12):
        values = words(id(obj) - 24, 8)[0] + 1
    else:
        return
    names = [n for n in ("customer", "number", "price", "only")
             if hasattr(obj, n)]
    members = []
    for name in names:
        at = find(values, WORD * len(names), getattr(obj, name))
        assert at, name
        members.append([at, at + WORD, name])
    claim(values, values + WORD * len(names), type(obj), members)


def claim_items(items):
    """What a list holds, where its own words say that it lies."""
    start = [word for word in words(id(items), list.__basicsize__)[2:]
             if word > 4096][0]
    assert words(start, 8)[0] == id(items[0])
    claim(start, start + WORD * len(items), type(items),
          [[start + WORD * i, start + WORD * (i + 1), "[%d]" % i]
           for i in range(len(items))])


orders = [Order(n) for n in range(60)]
hidden = [Hidden(n) for n in range(40)]
lines = [Line(n) for n in range(60)]
inner = [Shop.Inner(n) for n in range(40)]
made = [Made() for n in range(8)]
stacks = [Stack(range(5000000 + n, 5000000 + n + 9)) for n in range(20)]
pairs = [(6000000 + n, "p%d" % n, n + 0.125) for n in range(60)]
names = ["name %d" % n for n in range(60)]
wide = ["n\u00e4me \u20ac %d" % n for n in range(30)]
blobs = [b"blob %d" % n for n in range(30)]
floats = [n + 0.75 for n in range(60)]
numbers = [1 << (40 + n) for n in range(60)]
dicts = [{"a%d" % n: n, "b%d" % n: 7000000 + n} for n in range(30)]
ordered = [collections.OrderedDict(x=n) for n in range(10)]
sets = [{"s%d" % n, n} for n in range(20)]
large = [tuple(range(8000000, 8000200)) for n in range(4)]

for order in orders + hidden:
    claim_object(order, customer=order.customer, number=order.number,
                 price=order.price)
    claim_values(order)
for line in lines:
    claim_object(line, first=line.first, second=line.second,
                 _Line__third=line._Line__third)
for obj in inner:
    claim_object(obj, only=obj.only)
    claim_values(obj)
for obj in made:
    for i in range(70):
        setattr(obj, "m%d" % i, 9000000 + 100 * i)
    claim_object(obj, **{"m%d" % i: getattr(obj, "m%d" % i)
                         for i in range(70)})
for obj in stacks + [orders, lines, names]:
    claim_object(obj)
    claim_items(obj)
for pair in pairs + large:
    claim_object(pair, **{"[%d]" % i: x for i, x in enumerate(pair)})
for obj in names + wide + blobs + floats + numbers + dicts + ordered + sets:
    claim_object(obj)
claims.sort(key=lambda c: c["start"])

# Freed, and no others of that size come: their memory is nobody's.
gone = type("Gone", (), {"__slots__": tuple("g%d" % i for i in range(46))})
freed = [gone() for n in range(20)]
freed_at = [id(obj) for obj in freed]
for addr in freed_at:
    claims.append({"start": addr, "end": addr + gone.__basicsize__,
                   "class": None, "was": qualified(gone)})
del freed
gc.collect()
gc.disable()


def touch():
    total = 0
    for group in orders, hidden, lines:
        for obj in group:
            total += obj.total()
    for obj in inner:
        total += obj.only
    for obj in made:
        total += obj.m3 + obj.m69
        obj.m5 = obj.m6
    for obj in stacks:
        total += obj[3] + len(obj)
    for pair in pairs:
        total += pair[0] + pair[2]
    for group in names, wide, blobs:
        for text in group:
            total += hash(text) & 1
            total += len(text)
    for a, b in zip(floats, numbers):
        total += a + b
    for n, table in enumerate(dicts):
        total += table["a%d" % n]
    for obj in ordered:
        total += obj["x"]
    for n, obj in enumerate(sets):
        total += ("s%d" % n) in obj
    for obj in large:
        total += obj[150]
    # From inside, by no register that points to where it starts.
    for group in floats, lines, pairs:
        for obj in group:
            total += ctypes.string_at(id(obj) + 16, 8)[0] & 0
    for addr in freed_at:
        total += ctypes.string_at(addr + 64, 8)[0] & 0
    return total


print(json.dumps(claims), flush=True)
sys.stdin.readline()
for _ in range(ROUNDS):
    result = touch()
print(int(result), flush=True)
