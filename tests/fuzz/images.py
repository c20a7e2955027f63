#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The corpus of fuzz_gobject, fuzz_ruby and fuzz_v8: small memories in which
each finds its way to the end of what it reads.

    images.py FOLDER        writes FOLDER/gobject/one and so on
"""

import os
import struct
import sys

IMAGE = 0x40000


class Memory:
    def __init__(self, size):
        self.bytes = bytearray(size)
        self.next = 0

    def words(self, at, *words):
        for i, word in enumerate(words):
            struct.pack_into("<Q", self.bytes, at + 8 * i,
                             word & (1 << 64) - 1)

    def text(self, at, text):
        self.bytes[at:at + len(text)] = text

    def take(self, size):
        """Room, aligned for anything: its offset."""
        at = self.next
        self.next = (at + size + 15) // 16 * 16
        return at

    def put(self, *words):
        at = self.take(8 * len(words))
        self.words(at, *words)
        return IMAGE + at

    def string(self, text):
        at = self.take(len(text) + 1)
        self.text(at, text)
        return IMAGE + at

    def save(self, folder, name, offsets):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        with open(os.path.join(folder, name, "one"), "wb") as file:
            file.write(struct.pack("<8H", *offsets) + self.bytes)


def gobject(folder):
    """GObject, and a class derived from it with private data."""
    m = Memory(6144)
    m.next = 2064
    quarks = m.put(0, m.string(b"GObject"), m.string(b"ZooLion"))
    m.words(2048, quarks)

    def node(number, supers, data, quark, children):
        bits = len(supers) - 1 | 1 << 17 | 1 << 18
        return m.put(1, 0, len(children) | bits << 32,
                     m.put(*children, 0), data, quark, 0, 0, 0, *supers, 0)

    lion_class, object_class = m.put(0, 0), m.put(80, 0)
    lion_data = m.put(0, 136, 1, 0, 0, 0, 0, lion_class, 40 | 16 << 16)
    object_data = m.put(0, 136, 1, 0, 0, 0, 0, object_class, 24)
    at = (m.next + 15) // 16 * 16
    children = m.put(0, 0)
    lion = node(0, [0, 80], lion_data, 2, [])
    m.words(lion - IMAGE + 72, lion)
    m.words(children - IMAGE, lion)
    top = m.put(1, 0, 1 | (3 << 17) << 32, children, object_data, 1, 0, 0, 0,
                80, 0)
    m.words(20 * 8, top)
    m.words(lion_class - IMAGE, lion)
    m.take(16)
    one = m.put(lion_class, 1, 0, 7, 8)
    two = m.put(object_class, 2, 0)
    assert at and m.next < len(m.bytes)
    o = one - IMAGE
    m.save(folder, "gobject", [o, o - 8, o + 32, o + 8, two - IMAGE,
                               two - IMAGE + 16, o + 24, 160])


def ruby(folder):
    """Object, a class of a module, and objects of each kind."""
    m = Memory(16384 + 4096)
    m.next = 16384 + 64
    start = IMAGE + 16
    slots = [start + 40 * i for i in range(20)]
    (top, lion, one, text, array, table, path, lion_path, ids, pairs, name,
     single, memo) = slots[:13]

    def slot(at, flags, klass, *words):
        m.words(at - IMAGE, flags, klass, *words)

    def embedded(at, chars):
        slot(at, 5 | len(chars) << 14, top)
        m.text(at - IMAGE + 16, chars)

    def variables(key, value):
        entries = m.put(1, key, value)
        return m.put(0, 0, 1, 0, 0, 1, entries)

    index = m.put(0, 1)
    m.words(0, m.put(40 | 400 << 16, 0, 0, 0, start))
    m.words(16384, top, 0, 0, 0, ids)
    slot(top, 2, top, 0, m.put(0, variables(0xf01, path)))
    slot(lion, 2, top, top, m.put(variables(0x21, index),
                                  variables(0xf01, lion_path)))
    embedded(path, b"Object")
    embedded(lion_path, b"Zoo::Lion")
    embedded(name, b"@legs")
    slot(one, 1 | 1 << 13, lion, 9, 8, 7)
    slot(text, 5 | 1 << 13, top, 5, m.string(b"hello"), 5)
    slot(array, 7, top, 3, 3, m.put(1, 3, 5))
    slot(table, 8, top, m.put(0), 0, 8)
    slot(ids, 7 | 1 << 13 | 1 << 15, 0, pairs)
    slot(pairs, 7, 0, 6, 6, m.put(8, 8, 8, 8, name, 8))
    slot(single, 2 | 1 << 12, top, lion, 0)
    slot(memo, 0x1a | 12 << 12, 0)
    m.save(folder, "ruby", [s - IMAGE + 16 for s in
                            (one, text, array, table, lion, ids, memo, name)])


def v8(folder):
    """A function, and an object that it constructed."""
    m = Memory(6144)
    m.next = 16

    def tag(address):
        return address + 1

    meta = IMAGE + m.take(80)

    def make_map(kind, size, inobject=0, prototype=0, constructor=0,
                 descriptors=0, own=0, at=None):
        at = at or IMAGE + m.take(80)
        m.words(at - IMAGE, tag(meta), size | inobject << 8 | kind << 32,
                own << 10, tag(prototype) if prototype else 0,
                tag(constructor) if constructor else 0,
                tag(descriptors) if descriptors else 0, 0, 0, 0, 0)
        return at

    make_map(255, 10, at=meta)
    string_map = make_map(8, 0)
    array_map = make_map(175, 0)
    scope_map, shared_map = make_map(261, 0), make_map(262, 8)
    function_map = make_map(2066, 8, 8)
    empty = m.put(tag(array_map), 0, 0)

    def string(chars):
        at = m.take(16 + len(chars))
        m.words(at, tag(string_map), 3 | len(chars) << 32)
        m.text(at + 16, chars)
        return IMAGE + at

    def descriptors(*entries):
        words = []
        for key, index, value in entries:
            where = 32 if index is None else index << 19
            words += [tag(string(key)), where << 32, value]
        return m.put(tag(array_map), len(entries), 0, *words)

    def function(name):
        scope = m.put(tag(scope_map), 0, 0, 1 << 32, tag(string(b"local")),
                      0, tag(name), 0, 0, 0, 0)
        shared = m.put(tag(shared_map), 0, tag(scope), 0, 0, 0, 0, 0)
        return m.put(tag(function_map), tag(empty), tag(empty), tag(shared),
                     0, 0, 0, 0)

    lion = function(string(b"Lion"))
    prototype_map = make_map(1057, 4, 3, own=1, descriptors=descriptors(
        (b"constructor", 0, 0)))
    prototype = m.put(tag(prototype_map), tag(empty), tag(empty), tag(lion))
    lion_map = make_map(1057, 5, 3, prototype, lion, descriptors(
        (b"legs", 0, 0), (b"mane", 1, 0)), 2)
    one = m.put(tag(lion_map), tag(empty), tag(empty), 4 << 32, 1 << 32)
    some = m.put(tag(array_map), 3 << 32, tag(one), 0, 0)
    dictionary = m.put(tag(array_map), 4 << 32, 0,
                       tag(string(b"constructor")), tag(lion), 0)
    slow_map = make_map(1057, 3, 3, own=1 << 11)
    slow = m.put(tag(slow_map), tag(dictionary), tag(empty))
    other_map = make_map(1057, 3, 3, slow)
    other = m.put(tag(other_map), tag(empty), tag(empty))
    assert m.next < len(m.bytes)
    m.save(folder, "v8", [at - IMAGE for at in
                          (one + 24, one + 1, some + 24, other + 1,
                           prototype + 8, prototype + 1, lion + 24,
                           lion + 1)])


if __name__ == "__main__":
    for make in (gobject, ruby, v8):
        make(sys.argv[1])
