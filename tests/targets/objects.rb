#!/usr/bin/ruby
# SPDX-License-Identifier: Apache-2.0
# objects.rb [ROUNDS]: makes objects and prints what must be said of them, as
# component_zoo.cc does; after "end" it waits for a line, and touches them
# again and again.
require "objspace"

module Zoo
  class Animal
    attr_accessor :legs, :name

    def initialize(name)
      @legs = 4
      @name = name
    end

    def feed(amount)
      @fed = (@fed || 0) + amount
      @legs += 0
    end
  end

  class Lion < Animal
    def roar
      @name << "!" if @name.size < 20
      @fed
    end
  end

  class Flock < Animal
    def initialize(name)
      super
      @a = @b = @c = @d = @e = 1
    end

    def feed(amount)
      @e += amount
    end
  end

  Cage = Struct.new(:bars, :inmate)
end

EXACT = 3
SLOT = 40

def address(object)
  ObjectSpace.dump(object)[/0x\h+/].hex
end

def claim(object, name)
  start = address(object)
  [0, 8, 16, SLOT - 1].each do |offset|
    puts "object\t#{name}\t#{(start + offset).to_s(16)}\t0\t" \
         "#{start.to_s(16)}\t#{EXACT}"
  end
end

def touch(object, round)
  case object
  when Zoo::Lion
    object.feed(round)
    object.roar
  when Zoo::Animal then object.feed(round)
  when Zoo::Cage
    object.bars += 1
    object.inmate.legs
  when String then object.setbyte(round % object.bytesize, 65)
  when Array then object[round % object.size] = round
  when Hash then object[round % 10] = round
  end
end

stay = []
20.times do |i|
  stay << Zoo::Animal.new("animal#{i}") << Zoo::Lion.new("lion#{i}")
  stay << Zoo::Flock.new("flock") << Zoo::Cage.new(30, stay[-2])
  stay << "short" + i.to_s << "long" * 20 << [i, 1, 2] << (0..40).to_a
  stay << { i => 1, 1 => 2 } << (0..20).to_h { |n| [n, n] }
end
# One that has a class of its own, and so is still of that class for people.
single = Zoo::Lion.new("single")
def single.purr = @purr = 1
single.purr
stay << single
GC.start

stay.each { |object| claim(object, object.class.name) }
claim(Zoo, "Module")
claim(Zoo::Lion, "Class")
claim(Class.new(Zoo::Lion), "Class")
puts "end"
$stdout.flush
$stdin.gets

(ARGV[0] || "10").to_i.times do |round|
  stay.each { |object| touch(object, round) }
  GC.start if round == 2
end
