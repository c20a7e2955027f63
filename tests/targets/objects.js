#!/usr/bin/node --allow-natives-syntax
// SPDX-License-Identifier: Apache-2.0
// objects.js [ROUNDS]: makes objects and prints what must be said of them, as
// component_zoo.cc does; after "end" it waits for a line, and touches them
// again and again.  %DebugPrint() knows where an object lies and of what
// constructor it is; the collector is told to leave it there.
"use strict";
const fs = require("fs");
const v8 = require("v8");
const vm = require("vm");

v8.setFlagsFromString(process.version < "v20" ? "--never-compact"
                                              : "--no-compact");
v8.setFlagsFromString("--expose-gc");
const collect = vm.runInNewContext("gc");

class Animal {
  constructor(name) {
    this.name = name;
    this.legs = 4;
    this.fed = 0;
  }
  feed(amount) {
    this.fed += amount;
    return this.legs;
  }
}

class Lion extends Animal {
  constructor(name) {
    super(name);
    this.mane = 1;
  }
  feed(amount) {
    this.mane = (this.mane + 1) & 1023;
    return super.feed(amount);
  }
}

function Cage(bars, inmate) {
  this.bars = bars;
  this.inmate = inmate;
}
Cage.prototype.rattle = function () {
  this.bars = (this.bars + 1) & 255;
  return this.inmate.legs;
};

const stay = [];
for (let i = 0; i < 25; i++) {
  const lion = new Lion("lion" + i);
  stay.push(["Animal", new Animal("animal" + i)], ["Lion", lion]);
  stay.push(["Cage", new Cage(i, lion)], ["Object", { a: i, b: "x" + i }]);
  stay.push(["Array", [i, 1, 2, 3]], ["Map", new Map([[i, lion]])]);
  stay.push(["Function", (n) => n + i], ["Date", new Date(i)]);
  stay.push(["Uint8Array", new Uint8Array(16)]);
}

function touch(object, round) {
  if (object instanceof Animal) return object.feed(round);
  if (object instanceof Cage) return object.rattle();
  if (object instanceof Map) return object.size;
  if (object instanceof Date) return object.getTime();
  if (object instanceof Uint8Array) return (object[round & 15] = round);
  if (typeof object === "function") return object(round);
  if (Array.isArray(object)) return (object[round & 3] = round);
  object.a = round;
  return object.b.length;
}

// So that maps are final, and the objects old.
for (let round = 0; round < 3; round++)
  for (const [, object] of stay) touch(object, round);
for (let i = 0; i < 4; i++) collect();

// What is printed for people goes to a file for the moment.
const out = fs.openSync("/proc/self/fd/1", "w");
const file = fs.mkdtempSync("/tmp/cls-objects-") + "/print";
fs.closeSync(1);
fs.openSync(file, "w");
for (const [, object] of stay) %DebugPrint(object);
const printed = fs.readFileSync(file, "utf8");
fs.rmSync(file);
fs.rmdirSync(file.replace(/\/print$/, ""));

const LIKELY = 2;
const EXACT = 3;
const lines = [];

function claim(name, start, offset, base) {
  lines.push(["object", name, (start + BigInt(offset)).toString(16),
              base.toString(16), start.toString(16),
              base ? EXACT : LIKELY].join("\t"));
}

const found = printed.split(/^DebugPrint: /m).slice(1);
found.forEach((text, i) => {
  const [name] = stay[i];
  const start = BigInt(text.match(/^0x[0-9a-f]+/)[0]) - 1n;
  const size = Number(text.match(/instance size: (\d+)/)[1]);
  for (const offset of [0, 8, size - 8]) {
    claim(name, start, offset, start + 1n);
    claim(name, start, offset, 0n);
  }
});
fs.writeSync(out, lines.join("\n") + "\nend\n");

const rounds = Number(process.argv[2] || 10);
fs.readSync(0, Buffer.alloc(1));
for (let round = 0; round < rounds; round++)
  for (const [, object] of stay) touch(object, round);
