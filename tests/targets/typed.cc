/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables and objects whose members DWARF names: lines as those of
 * component_zoo.cc, with the member as a seventh field.
 */
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

void *volatile sink; /* what it points to cannot be left out */

enum { NONE, GUESS, LIKELY, EXACT };

static void say(const char *kind, const char *name, const void *addr,
		const void *base, const void *start, int confidence,
		const char *member)
{
	sink = const_cast<void *>(addr);
	printf("%s\t%s\t%zx\t%zx\t%zx\t%d\t%s\n", kind, name, (size_t)addr,
	       (size_t)base, (size_t)start, confidence, member);
}

struct Limit {
	int min, max;
};

typedef struct {
	char name[8];
	Limit limits[4];
	union {
		int whole;
		unsigned char bytes[4];
	} value;
	struct {
		int left, right;
	};
	union {
		float ratio;
		uint32_t bits;
	};
	unsigned low : 3, middle : 4, high : 20;
	short grid[3][5];
	char tail;
	const volatile Limit *limit;
} Config;

Config config;
int grid[4][3];
Limit limits[2];
double number;

namespace shop
{
Limit span;

struct Order {
	static Limit defaults;
	long id;
	double price;
};

Limit Order::defaults;
namespace
{
Limit hidden;
}
} // namespace shop

namespace zoo
{
struct Point {
	int x, y;
};

struct Inner {
	char tag;
	Point pos;
};

class Animal
{
      public:
	virtual ~Animal()
	{
	}
	virtual int legs() const
	{
		return 4;
	}
	long age = 3;
};

class Lion : public Animal
{
      public:
	int legs() const override
	{
		return 4 + mane[1];
	}
	int mane[6] = { 1, 2, 3, 4, 5, 6 };
};

class Bird
{
      public:
	virtual ~Bird()
	{
	}
	long wings = 2;
};

class Griffin : public Lion, public Bird
{
      public:
	int legs() const override
	{
		return 2;
	}
	long gold = 1;
};

class Mammal : public virtual Animal
{
      public:
	long milk = 1;
};

class Winged : public virtual Animal
{
      public:
	long span = 1;
};

class Bat : public Mammal, public Winged
{
      public:
	long echo = 1;
};

class Holder
{
      public:
	virtual ~Holder()
	{
	}
	Inner inner{};
	Inner more[3]{};
	int first : 4, second : 12;
};

template <typename T, unsigned long N> class Cage : public Animal
{
      public:
	T content[N]{};
	int legs() const override
	{
		return 0;
	}
};

enum class Color { RED, BLUE };

template <Color C> class Painted : public Animal
{
      public:
	long coat = 5;
	int legs() const override
	{
		return static_cast<int>(C);
	}
};

template <typename F> class Task : public Animal
{
      public:
	explicit Task(F f) : run(f)
	{
	}
	F run;
	long done = 6;
	int legs() const override
	{
		return run();
	}
};

Lion mascot;
Lion pride[3];
} // namespace zoo

namespace
{
class Hidden : public zoo::Animal
{
      public:
	long secret = 1;
	int legs() const override
	{
		return 1;
	}
};
} // namespace

static void variables()
{
	static Limit local;
	uint32_t *flags = reinterpret_cast<uint32_t *>(&config.bits) + 1;
	char *byte = reinterpret_cast<char *>(flags);

	say("global", "config", &config.limits[3].max, nullptr, &config, EXACT,
	    "limits[3].max");
	say("global", "config", &config.name[5], nullptr, &config, EXACT,
	    "name[5]");
	say("global", "config", &config.value.bytes[2], nullptr, &config,
	    EXACT, "value.{whole|bytes[2]}");
	say("global", "config", &config.right, nullptr, &config, EXACT,
	    "right");
	say("global", "config", &config.ratio, nullptr, &config, EXACT,
	    "{ratio|bits}");
	say("global", "config", byte, nullptr, &config, EXACT,
	    "{low,middle,high}");
	say("global", "config", byte + 2, nullptr, &config, EXACT, "high");
	say("global", "config", &config.grid[1][4], nullptr, &config, EXACT,
	    "grid[1][4]");
	say("global", "config", &config.tail + 1, nullptr, &config, EXACT,
	    "<padding>");
	say("global", "config", &config.limit, nullptr, &config, EXACT,
	    "limit");
	say("global", "grid", &grid[3][1], nullptr, &grid, EXACT, "[3][1]");
	say("global", "limits", &limits[1].max, nullptr, &limits, EXACT,
	    "[1].max");
	say("global", "shop::span", &shop::span.max, nullptr, &shop::span,
	    EXACT, "max");
	say("global", "shop::Order::defaults", &shop::Order::defaults.max,
	    nullptr, &shop::Order::defaults, EXACT, "max");
	say("global", "shop::(anonymous namespace)::hidden",
	    &shop::hidden.max, nullptr, &shop::hidden, EXACT, "max");
	say("global", "variables()::local", &local.max, nullptr, &local, EXACT,
	    "max");
}

static void bases()
{
	zoo::Griffin *griffin = new zoo::Griffin;
	zoo::Bird *bird = griffin;
	zoo::Bat *bat = new zoo::Bat;
	zoo::Winged *winged = bat;
	zoo::Animal *animal = bat;

	say("object", "zoo::Griffin", &griffin->gold, griffin, griffin, EXACT,
	    "gold");
	say("object", "zoo::Griffin", &griffin->age, griffin, griffin, EXACT,
	    "age");
	say("object", "zoo::Griffin", &griffin->mane[5], nullptr, griffin,
	    EXACT, "mane[5]");
	say("object", "zoo::Griffin", &bird->wings, bird, griffin, EXACT,
	    "wings");
	say("object", "zoo::Griffin", bird, bird, griffin, EXACT, "<vptr>");
	say("object", "zoo::Bat", &bat->echo, bat, bat, EXACT, "echo");
	say("object", "zoo::Bat", &bat->milk, nullptr, bat, EXACT, "milk");
	say("object", "zoo::Bat", &winged->span, winged, bat, EXACT, "span");
	say("object", "zoo::Bat", &animal->age, animal, bat, EXACT, "age");
	say("object", "zoo::Bat", animal, animal, bat, EXACT, "<vptr>");
}

static void nested()
{
	zoo::Holder *holder = new zoo::Holder;
	char *bits = reinterpret_cast<char *>(&holder->more[3]);

	say("object", "zoo::Holder", &holder->inner.pos.x, holder, holder,
	    EXACT, "inner.pos.x");
	say("object", "zoo::Holder", &holder->more[2].pos.y, nullptr, holder,
	    EXACT, "more[2].pos.y");
	say("object", "zoo::Holder", &holder->inner.tag + 1, holder, holder,
	    EXACT, "inner.<padding>");
	say("object", "zoo::Holder", bits, holder, holder, EXACT,
	    "{first,second}");
	say("object", "zoo::Holder", bits + 1, holder, holder, EXACT,
	    "second");
}

/* Clang has a linkage name of its own for what is local to a file. */
#ifdef __clang__
#define LAMBDA "$_0"
#else
#define LAMBDA "{lambda()#1}"
#endif

static void names()
{
	class Local : public zoo::Animal
	{
	      public:
		long here = 4;
		int legs() const override
		{
			return 9;
		}
	};
	auto twice = [] { return 2; };
	auto *cage = new zoo::Cage<const char *, 3>;
	auto *strings = new zoo::Cage<std::map<std::string, long>, 1>;
	auto *blue = new zoo::Painted<zoo::Color::BLUE>;
	auto *task = new zoo::Task<decltype(twice)>(twice);
	auto *hidden = new Hidden;
	auto *local = new Local;

	say("object", "zoo::Cage<const char*, 3>", &cage->content[2], cage,
	    cage, EXACT, "content[2]");
	say("object", "zoo::Cage<std::map<std::string, long>, 1>",
	    &strings->age, strings, strings, EXACT, "age");
	say("object", "zoo::Painted<(zoo::Color)1>", &blue->coat, blue, blue,
	    EXACT, "coat");
	say("object", "zoo::Task<names()::" LAMBDA ">", &task->done, task,
	    task, EXACT, "done");
	say("object", "(anonymous namespace)::Hidden", &hidden->secret, hidden,
	    hidden, EXACT, "secret");
	say("object", "names()::Local", &local->here, local, local, EXACT,
	    "here");
}

static void many()
{
	zoo::Lion *array = new zoo::Lion[5];
	auto *lions = new std::vector<zoo::Lion>(7);
	auto *shared = new std::shared_ptr<zoo::Lion>;
	auto *map = new std::map<int, zoo::Lion>;
	zoo::Lion *third = &(*lions)[3];

	*shared = std::make_shared<zoo::Lion>();
	say("object", "zoo::Lion", &array[3].mane[4], nullptr, &array[3],
	    EXACT, "mane[4]");
	say("object", "zoo::Lion", &array[3].age, array, &array[3], EXACT,
	    "age");
	say("object", "zoo::Lion", &third->mane[2], nullptr, third, EXACT,
	    "mane[2]");
	say("object", "zoo::Lion", &(*shared)->age, nullptr, shared->get(),
	    EXACT, "age");
	say("object", "zoo::Lion", &(*map)[4].age, nullptr, &(*map)[4], LIKELY,
	    "age");
	say("object", "zoo::Lion", &zoo::mascot.mane[1], nullptr, &zoo::mascot,
	    EXACT, "mane[1]");
	say("object", "zoo::Lion", &zoo::pride[2].age, nullptr, &zoo::pride[2],
	    EXACT, "age");
}

struct Book {
	std::vector<shop::Order> orders;
	std::unique_ptr<Limit> single;
	std::string title;
	Limit *plain;
	long *numbers;
} book;

class Shelf : public zoo::Animal
{
      public:
	std::vector<shop::Order> orders;
};

/* Blocks that variables and known objects lead to */
static void owned()
{
	auto *shelf = new Shelf;

	book.orders.resize(9);
	book.single.reset(new Limit);
	book.title = "longer than what fits into the string itself";
	book.plain = new Limit[7];
	book.numbers = new long[50];
	shelf->orders.resize(5);
	say("object", "shop::Order[]", &book.orders[3].price, nullptr,
	    &book.orders[0], LIKELY, "[3].price");
	say("object", "Limit", &book.single->max, nullptr, book.single.get(),
	    LIKELY, "max");
	/* Clang leaves the string's members to the library's maker. */
#if !defined(__clang__) || defined(__OPTIMIZE__)
	say("object", "char[]", &book.title[7], nullptr, &book.title[0],
	    LIKELY, "[7]");
#endif
	say("object", "Limit[]", &book.plain[6].min, nullptr, book.plain,
	    LIKELY, "[6].min");
	say("object", "long[]", &book.numbers[49], nullptr, book.numbers,
	    LIKELY, "[49]");
	say("owned", "shop::Order[]", &shelf->orders[4].id, shelf,
	    &shelf->orders[0], LIKELY, "[4].id");
	say("block", "heap block", new long[5] + 2, nullptr, nullptr, LIKELY,
	    "");
}

int main()
{
	char byte;

	variables();
	bases();
	nested();
	names();
	many();
	owned();
	puts("end");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		continue;
	return 0;
}
