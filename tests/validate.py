#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a log of cls against docs/events.schema.json, line by line, and the
rules that a schema cannot tell: the first line is the header, the last one the
summary, seq counts up from 1 without gaps, and the summary's number of events
is the number of access records.

    validate.py LOG...      "-" is standard input

Prints one sentence per fault; exit status 1 if there is any, 2 if a file or
the schema cannot be read.  As a module: faults(lines) yields the sentences.
"""

import json
import os
import sys

import jsonschema

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      os.pardir, "docs", "events.schema.json")
FAULTS_SHOWN = 50

_validators = None


def validators():
    """One validator per type of record: "oneOf" alone would answer a wrong
    key with "not valid under any of the given schemas"."""
    global _validators
    if _validators is None:
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        _validators = {}
        for entry in schema["oneOf"]:
            name = entry["$ref"].rsplit("/", 1)[1]
            kind = schema["$defs"][name]["properties"]["type"]["const"]
            # The $defs must be there to be referred to; nothing else may.
            _validators[kind] = jsonschema.Draft202012Validator(
                {"$ref": entry["$ref"], "$defs": schema["$defs"]})
    return _validators


def _object(pairs):
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError("the key %s stands twice" % ", ".join(twice))
    return record


def _constant(text):
    raise ValueError("%s is not JSON" % text)


def parse(line):
    """The record of one line (bytes); ValueError tells what is wrong."""
    if not line.endswith(b"\n"):
        raise ValueError("the line does not end: the log is cut off")
    record = json.loads(line.decode("utf-8"), object_pairs_hook=_object,
                        parse_constant=_constant)
    if not isinstance(record, dict):
        raise ValueError("not an object")
    return record


def record_faults(record):
    """What the schema says against one record."""
    kind = record.get("type")
    validator = validators().get(kind) if isinstance(kind, str) else None
    if validator is None:
        yield "no record has the type %s" % json.dumps(kind)
        return
    for error in validator.iter_errors(record):
        where = ".".join(str(step) for step in error.absolute_path)
        yield "%s: %s%s" % (kind, where + ": " if where else "",
                            error.message[:300])


class _Log:
    """What has to be remembered from line to line."""

    def __init__(self):
        self.number = 0
        self.accesses = 0
        self.seq = 0
        self.summary = None

    def access(self, record):
        self.accesses += 1
        seq = record.get("seq")
        if seq != self.seq + 1:
            yield "seq is %s after %s" % (seq, self.seq)
        if isinstance(seq, int):
            self.seq = seq

    def record(self, record):
        kind = record.get("type")
        if (self.number == 1) != (kind == "header"):
            yield ("the first line is %s, not the header" % kind
                   if self.number == 1 else "a header that is not first")
        if self.summary is not None:
            yield "%s after the summary" % kind
        if kind == "summary":
            self.summary = record
        if kind == "access":
            yield from self.access(record)

    def end(self):
        if self.number == 0:
            yield "the log is empty"
        elif self.summary is None:
            yield "the last line is not a summary"
        elif self.summary.get("events") != self.accesses:
            yield ("the summary tells of %s events, the log has %d access "
                   "records" % (self.summary.get("events"), self.accesses))


def faults(lines):
    """One sentence per fault of a whole log; @lines are bytes, as from a file
    that is open in binary mode."""
    log = _Log()
    for line in lines:
        log.number += 1
        try:
            record = parse(line)
        except ValueError as error:
            yield "line %d: %s" % (log.number, error)
            continue
        for fault in record_faults(record):
            yield "line %d: %s" % (log.number, fault)
        for fault in log.record(record):
            yield "line %d: %s" % (log.number, fault)
    for fault in log.end():
        yield "line %d: %s" % (log.number, fault)


def _check(path):
    count = 0
    with open(0 if path == "-" else path, "rb") as file:
        for count, fault in enumerate(faults(file), 1):
            # A class name in a message may hold anything.
            print("%s: %s" % (path, fault.encode(
                "ascii", "backslashreplace").decode()))
            if count == FAULTS_SHOWN:
                print("%s: only the first %d faults are shown"
                      % (path, FAULTS_SHOWN))
                break
    return count


def main(paths):
    if not paths or paths[0].startswith("--"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return 1 if sum([_check(path) for path in paths]) else 0
    except OSError as error:
        print("validate.py: %s" % error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
