/* SPDX-License-Identifier: Apache-2.0 */
/* watch: config.limits[3].max */
/* watch: class:Holder.inner.pos */
/* options: --every */
/*
 * Touches members of variables and objects.  Arguments: how often (3), and if
 * there is another one, it says before of each: kind, class or name, member,
 * address.
 */
#include <map>
#include <memory>
#include <vector>

#include "tests/targets/target.h"

struct Limit {
	long min, max;
};

struct {
	long count;
	Limit limits[4];
	union {
		long whole;
		int half[2];
	} value;
	int grid[3][4];
} config;

struct Point {
	int x, y;
};

struct Inner {
	char tag;
	Point pos;
};

struct Base {
	virtual ~Base() {}
	long id = 1;
};

struct Left : virtual Base {
	long left = 2;
};

struct Right : virtual Base {
	long right = 3;
};

struct Bottom : Left, Right {
	long bottom = 4;
};

struct Holder : Base {
	Inner inner{};
	Point more[3]{};
};

template <typename T> struct Box : Base {
	T content{};
};

static bool saying;

static void say(const char *kind, const char *name, const char *member,
		const void *addr)
{
	if (saying)
		printf("%s\t%s\t%s\t%zx\n", kind, name, member, (size_t)addr);
}

#define TOUCH(kind, name, member, what)                                        \
	do {                                                                   \
		say(kind, name, member, &(what));                              \
		(what)++;                                                      \
	} while (0)

static Holder *holder = new Holder;
static Holder *array = new Holder[5];
static Bottom *bottom = new Bottom;
static Box<std::map<int, long>> *box = new Box<std::map<int, long>>;
static std::vector<Holder> *many = new std::vector<Holder>(20);
static std::shared_ptr<Holder> shared = std::make_shared<Holder>();
Holder everywhere;

static void variables()
{
	static Limit local;

	TOUCH("global", "config", "count", config.count);
	TOUCH("global", "config", "limits[3].max", config.limits[3].max);
	TOUCH("global", "config", "value.{whole|half[1]}",
	      config.value.half[1]);
	TOUCH("global", "config", "grid[2][1]", config.grid[2][1]);
	TOUCH("global", "variables()::local", "max", local.max);
}

static void objects()
{
	Base *base = bottom;
	Right *right = bottom;

	TOUCH("object", "Holder", "inner.pos.x", holder->inner.pos.x);
	TOUCH("object", "Holder", "inner.tag", holder->inner.tag);
	TOUCH("object", "Holder", "more[2].y", holder->more[2].y);
	TOUCH("object", "Holder", "id", holder->id);
	TOUCH("object", "Bottom", "id", base->id);
	TOUCH("object", "Bottom", "right", right->right);
	TOUCH("object", "Bottom", "bottom", bottom->bottom);
	TOUCH("object", "Box<std::map<int, long>>", "id", box->id);
	TOUCH("object", "Holder", "inner.pos.y", shared->inner.pos.y);
	TOUCH("object", "Holder", "more[1].x", everywhere.more[1].x);
	for (int i = 0; i < 5; i++)
		TOUCH("object", "Holder", "inner.pos.y", array[i].inner.pos.y);
	for (Holder &one : *many)
		TOUCH("object", "Holder", "more[0].y", one.more[0].y);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3;

	saying = argc > 2;
	for (int i = 0; i < rounds; i++) {
		variables();
		objects();
		saying = false;
	}
	printf("%d %ld\n", holder->inner.pos.x, config.limits[3].max);
	return 0;
}
