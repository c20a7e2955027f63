/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of all kinds, and what a resolver must say of them: lines
 *
 *	kind TAB name TAB address TAB register TAB start TAB confidence
 *
 * The register is 0 where none points to the object, the start 0 where it is
 * not to be checked, and the least confidence that will do is a digit, as in
 * enum confidence.  A line "end" follows; the program then sleeps until its
 * standard input ends.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

void *volatile sink; /* what it points to cannot be left out */

static void say(const char *kind, const char *name, const void *addr,
		const void *base, const void *start, int confidence)
{
	sink = const_cast<void *>(addr);
	printf("%s\t%s\t%zx\t%zx\t%zx\t%d\n", kind, name, (size_t)addr,
	       (size_t)base, (size_t)start, confidence);
}

enum { NONE, GUESS, LIKELY, EXACT };

namespace zoo
{
int counter = 7;
struct {
	int low[4], high[4];
} limits;

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

template <typename T> class Cage : public Animal
{
      public:
	T content{};
	int legs() const override
	{
		return 0;
	}
};

class Whale : public Animal
{
      public:
	char blubber[1 << 20];
};

/* Allocated behind a count, as some programs do. */
class Counted : public Animal
{
      public:
	long load[5] = { 1, 2, 3, 4, 5 };
	int legs() const override
	{
		return 3;
	}
	static void *operator new(size_t size)
	{
		size_t *head = static_cast<size_t *>(malloc(size + 24));

		head[0] = 0;
		head[1] = size | 2;
		head[2] = 77;
		return head + 3;
	}
	static void operator delete(void *object)
	{
		free(static_cast<size_t *>(object) - 3);
	}
};

Lion mascot;
Lion pride[3];
Animal *const first = new Lion;
} // namespace zoo

namespace
{
class Hidden : public zoo::Animal
{
      public:
	int legs() const override
	{
		return 1;
	}
};
} // namespace

static void single()
{
	zoo::Lion *lion = new zoo::Lion;
	char *end = reinterpret_cast<char *>(lion + 1);

	say("object", "zoo::Lion", lion, lion, lion, EXACT);
	say("object", "zoo::Lion", &lion->age, lion, lion, EXACT);
	say("object", "zoo::Lion", &lion->mane[5], lion, lion, EXACT);
	say("object", "zoo::Lion", &lion->mane[5], nullptr, lion, LIKELY);
	say("object", "zoo::Lion", end - 1, nullptr, lion, LIKELY);
	say("object", "zoo::Lion", lion, nullptr, lion, LIKELY);
}

static void bases()
{
	zoo::Griffin *griffin = new zoo::Griffin;
	zoo::Bird *bird = griffin;
	zoo::Bat *bat = new zoo::Bat;
	zoo::Winged *winged = bat;
	zoo::Animal *animal = bat;

	say("object", "zoo::Griffin", &griffin->gold, griffin, griffin, EXACT);
	say("object", "zoo::Griffin", &bird->wings, bird, griffin, EXACT);
	say("object", "zoo::Griffin", &bird->wings, nullptr, griffin, LIKELY);
	say("object", "zoo::Bat", &bat->echo, bat, bat, EXACT);
	say("object", "zoo::Bat", &winged->span, winged, bat, EXACT);
	say("object", "zoo::Bat", &animal->age, animal, bat, EXACT);
	say("object", "zoo::Bat", &animal->age, nullptr, bat, LIKELY);
}

static void names()
{
	class Local : public zoo::Animal
	{
	      public:
		int legs() const override
		{
			return 9;
		}
	};
	auto *box = new zoo::Cage<int>;
	auto *pair = new zoo::Cage<std::pair<int, zoo::Lion *>>;
	auto *hidden = new Hidden;
	auto *local = new Local;
	auto *error = new std::runtime_error("x");

	say("object", "zoo::Cage<int>", &box->content, box, box, EXACT);
	say("object", "zoo::Cage<std::pair<int, zoo::Lion*>>",
	    &pair->content.second, nullptr, pair, LIKELY);
	say("object", "(anonymous namespace)::Hidden", &hidden->age, hidden,
	    hidden, EXACT);
	say("object", "names()::Local", &local->age, local, local, EXACT);
	say("object", "std::runtime_error", reinterpret_cast<char *>(error) + 8,
	    error, error, EXACT);
}

static void many()
{
	zoo::Lion *array = new zoo::Lion[5];
	auto *lions = new std::vector<zoo::Lion>(7);
	auto *shared = new std::shared_ptr<zoo::Lion>;
	auto *map = new std::map<int, zoo::Lion>;
	zoo::Lion *third = &(*lions)[3];

	*shared = std::make_shared<zoo::Lion>();
	say("object", "zoo::Lion", &array[0].age, nullptr, &array[0], LIKELY);
	say("object", "zoo::Lion", &array[3].mane[4], nullptr, &array[3],
	    LIKELY);
	say("object", "zoo::Lion", &array[3].age, array, &array[3], LIKELY);
	say("object", "zoo::Lion", &third->age, nullptr, third, LIKELY);
	say("object", "zoo::Lion", &(*shared)->age, nullptr, shared->get(),
	    LIKELY);
	say("object", "zoo::Lion", &(*shared)->age, shared->get(),
	    shared->get(), LIKELY);
	say("object", "zoo::Lion", &(*map)[4].age, nullptr, &(*map)[4], GUESS);
}

static void large()
{
	zoo::Counted *counted = new zoo::Counted;
	zoo::Whale *whale = new zoo::Whale;

	say("object", "zoo::Counted", &counted->load[4], counted, counted,
	    EXACT);
	say("object", "zoo::Counted", &counted->load[4], nullptr, counted,
	    LIKELY);
	say("object", "zoo::Whale", &whale->blubber[9], whale, whale, EXACT);
	say("object", "zoo::Whale", &whale->blubber[900000], nullptr, whale,
	    LIKELY);
}

static void *elsewhere(void *unused)
{
	zoo::Lion *lion;

	for (int i = 0; i < 300; i++)
		sink = malloc(200);
	lion = new zoo::Lion;
	say("object", "zoo::Lion", &lion->age, lion, lion, EXACT);
	say("object", "zoo::Lion", &lion->mane[2], nullptr, lion, LIKELY);
	return unused;
}

static void statics()
{
	say("object", "zoo::Lion", &zoo::mascot.age, &zoo::mascot, &zoo::mascot,
	    LIKELY);
	say("static", "zoo::Lion", &zoo::mascot.age, nullptr, &zoo::mascot,
	    EXACT);
	say("static", "zoo::Lion", &zoo::pride[2].age, nullptr, &zoo::pride[2],
	    LIKELY);
	say("global", "zoo::counter", &zoo::counter, nullptr, &zoo::counter,
	    EXACT);
	say("global", "zoo::limits", &zoo::limits.high[2], nullptr,
	    &zoo::limits, EXACT);
	say("code", "statics()", reinterpret_cast<void *>(&statics), nullptr,
	    reinterpret_cast<void *>(&statics), EXACT);
}

/* Blocks that hold no object.  Later ones may be cut off the free one. */
static void blocks()
{
	char *text = strdup("twenty-three characters");
	char *unused = static_cast<char *>(malloc(3000));
	char *volatile inside = unused + 1000;

	sink = malloc(100);
	free(unused);
	say("block", "heap block", text, nullptr, text, LIKELY);
	say("block", "heap block", text, text, text, LIKELY);
	say("block", "heap block", text + 23, nullptr, text, LIKELY);
	say("block", "free heap block", inside, nullptr, nullptr, LIKELY);
}

int main()
{
	zoo::Lion here;
	long plain = 5;
	pthread_t thread;

	single();
	bases();
	names();
	many();
	large();
	statics();
	blocks();
	fflush(stdout);
	pthread_create(&thread, nullptr, elsewhere, nullptr);
	pthread_join(thread, nullptr);
	say("object", "zoo::Lion", &here.age, &here, &here, LIKELY);
	say("stack", "[stack]", &plain, nullptr, nullptr, LIKELY);
	puts("end");
	fflush(stdout);
	while (read(0, &plain, 1) > 0)
		continue;
	return 0;
}
