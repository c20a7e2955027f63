/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gobjects [ROUNDS]: makes GObjects and prints what must be said of them, as
 * component_zoo.cc does; after "end" it waits for a line, and touches them
 * again and again.  Meanwhile it prints, as "temporary", which came and went.
 */
#include <glib-object.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
	GObject parent;
	guint64 legs;
	guint64 weight[3];
} ZooAnimal;

typedef struct {
	GObjectClass parent;
	guint64 (*feed)(ZooAnimal *animal, guint64 amount);
} ZooAnimalClass;

typedef struct {
	guint64 hunger, fed, meals[5];
} ZooAnimalPrivate;

typedef struct {
	ZooAnimal parent;
	guint64 mane;
} ZooLion;

typedef struct {
	ZooAnimalClass parent;
} ZooLionClass;

typedef struct {
	ZooLion parent;
	guint32 spots[40];
} ZooLeopon;

typedef struct {
	ZooLionClass parent;
} ZooLeoponClass;

typedef struct {
	guint64 secret;
} ZooLeoponPrivate;

/* With parameters, signals and data of GObject's own; no private data. */
typedef struct {
	GInitiallyUnowned parent;
	guint64 bars;
	ZooAnimal *inmate;
} ZooCage;

typedef struct {
	GInitiallyUnownedClass parent;
} ZooCageClass;

GType zoo_animal_get_type(void);
GType zoo_lion_get_type(void);
GType zoo_leopon_get_type(void);
GType zoo_cage_get_type(void);

G_DEFINE_TYPE_WITH_PRIVATE(ZooAnimal, zoo_animal, G_TYPE_OBJECT)
G_DEFINE_TYPE(ZooLion, zoo_lion, zoo_animal_get_type())
G_DEFINE_TYPE_WITH_PRIVATE(ZooLeopon, zoo_leopon, zoo_lion_get_type())
G_DEFINE_TYPE(ZooCage, zoo_cage, G_TYPE_INITIALLY_UNOWNED)

static guint64 feed(ZooAnimal *animal, guint64 amount)
{
	ZooAnimalPrivate *own = zoo_animal_get_instance_private(animal);

	own->hunger -= amount;
	own->fed += own->meals[amount % 5]++;
	animal->weight[amount % 3] += amount;
	return own->hunger + animal->legs;
}

static void zoo_animal_init(ZooAnimal *animal)
{
	ZooAnimalPrivate *own = zoo_animal_get_instance_private(animal);

	animal->legs = 4;
	own->hunger = 100;
}

static void zoo_animal_class_init(ZooAnimalClass *class)
{
	class->feed = feed;
}

static void zoo_lion_init(ZooLion *lion)
{
	lion->mane = 1;
}

static void zoo_lion_class_init(ZooLionClass *class)
{
}

static void zoo_leopon_init(ZooLeopon *leopon)
{
	leopon->spots[39] = 7;
}

static void zoo_leopon_class_init(ZooLeoponClass *class)
{
}

static void zoo_cage_init(ZooCage *cage)
{
	cage->bars = 30;
}

static void zoo_cage_class_init(ZooCageClass *class)
{
}

/* Its first byte, with its private data. */
static gulong start_of(gpointer object)
{
	GType type = G_OBJECT_TYPE(object);
	gsize private = 0;

	if (g_type_is_a(type, zoo_animal_get_type()))
	private += (sizeof(ZooAnimalPrivate) + 15) & ~15ul;
	if (g_type_is_a(type, zoo_leopon_get_type()))
	private += (sizeof(ZooLeoponPrivate) + 15) & ~15ul;
	return (gulong)object - private;
}

enum { LIKELY = 2, EXACT };

/* What is to be said of @addr if a register holds @base. */
static void claim(const char *kind, gpointer object, gulong addr, gulong base)
{
	printf("%s\t%s\t%#lx\t%#lx\t%#lx\t%d\n", kind,
	       G_OBJECT_TYPE_NAME(object), addr, base, start_of(object),
	       base ? EXACT : LIKELY);
}

static void tell(const char *kind, gpointer object)
{
	gulong at = (gulong)object;
	GTypeQuery query;

	g_type_query(G_OBJECT_TYPE(object), &query);
	claim(kind, object, at, at);
	claim(kind, object, at, 0);
	claim(kind, object, start_of(object), 0);
	claim(kind, object, start_of(object), at);
	claim(kind, object, at + query.instance_size - 1, 0);
}

static guint64 touch_animal(ZooAnimal *animal, guint64 n)
{
	ZooAnimalClass *class = (ZooAnimalClass *)G_OBJECT_GET_CLASS(animal);
	guint64 sum = class->feed(animal, n);

	if (g_type_check_instance_is_a((GTypeInstance *)animal,
				       zoo_lion_get_type()))
		sum += ((ZooLion *)animal)->mane++;
	if (g_type_check_instance_is_a((GTypeInstance *)animal,
				       zoo_leopon_get_type())) {
		ZooLeopon *leopon = (ZooLeopon *)animal;
		ZooLeoponPrivate *own = zoo_leopon_get_instance_private(leopon);

		/* A loop that needs no register for the instance. */
		for (int i = 0; i < 40; i++)
			leopon->spots[i] += i;
		sum += own->secret++;
	}
	return sum;
}

static guint64 touch(gpointer object, guint64 n)
{
	static GQuark quark;
	guint64 sum = 0;

	if (!quark)
		quark = g_quark_from_static_string("zoo-mark");
	g_object_ref(object);
	if (n % 7 == 0)
		g_object_set_qdata(object, quark, GSIZE_TO_POINTER(n + 1));
	if (G_OBJECT_TYPE(object) == zoo_cage_get_type())
		sum += ((ZooCage *)object)->bars++;
	else
		sum += touch_animal(object, n);
	g_object_unref(object);
	return sum;
}

enum { EACH = 50 };

int main(int argc, char **argv)
{
	guint64 rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10, sum = 0;
	gpointer object[4 * EACH], fresh;

	for (int i = 0; i < EACH; i++) {
		object[4 * i] = g_object_new(zoo_animal_get_type(), NULL);
		object[4 * i + 1] = g_object_new(zoo_lion_get_type(), NULL);
		object[4 * i + 2] = g_object_new(zoo_leopon_get_type(), NULL);
		object[4 * i + 3] = g_object_ref_sink(
			g_object_new(zoo_cage_get_type(), NULL));
	}
	for (int i = 0; i < 4 * EACH; i++)
		tell("object", object[i]);
	puts("end");
	fflush(stdout);
	getchar();
	for (guint64 n = 0; n < rounds; n++) {
		fresh = g_object_new(n % 2 ? zoo_leopon_get_type()
					   : zoo_lion_get_type(),
				     NULL);
		tell("temporary", fresh);
		for (int i = 0; i < 4 * EACH; i++)
			sum += touch(object[i], n);
		sum += touch(fresh, n);
		g_object_unref(fresh);
	}
	printf("sum\t%lu\n", sum);
	return 0;
}
