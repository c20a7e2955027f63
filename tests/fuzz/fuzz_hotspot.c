/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small Java virtual machine in memory, of which any bytes may be others.
 * Input: the collector and the shape of headers, then changes of 10 bytes, an
 * offset and a word, that go into the image or into the layout.
 */
#include <errno.h>

#include "tests/fuzz/fuzz.h"
#include "tracer/component/hotspot.h"

enum {
	SIZE = 1 << 16,
	BASE = 0x100000,
	HEAP = BASE + 0x8000, /* to the end of the image */
	OBJECT = BASE + 0x1000,
	NODE = BASE + 0x1200,
	ARRAY = BASE + 0x1400,
	NAMES = BASE + 0x2000,
	POOL = BASE + 0x2800,
	CONSTANT = BASE + 0x3000,
	METHOD = BASE + 0x3100,
	DATA = BASE + 0x3200,
	CODE = BASE + 0x4000, /* one heap of code, its map of segments next */
	SEGMENTS = BASE + 0x5000,
	SPACES = BASE + 0x5800,
	THREADS = BASE + 0x6000,
	VARIABLES = BASE + 0x7000,
};

static uint8_t image[SIZE];

static int read_image(void *context, uint64_t addr, void *buffer, size_t size)
{
	if (addr < BASE || addr - BASE > SIZE || size > SIZE - (addr - BASE))
		return -EFAULT;
	memcpy(buffer, image + (addr - BASE), size);
	return 0;
}

static void put(uint64_t addr, uint64_t value)
{
	memcpy(image + (addr - BASE), &value, sizeof(value));
}

static void put_int(uint64_t addr, uint32_t value)
{
	memcpy(image + (addr - BASE), &value, sizeof(value));
}
static uint64_t put_name(unsigned i, const char *text)
{
	uint64_t addr = NAMES + 64 * i;
	uint16_t length = (uint16_t)strlen(text);

	memcpy(image + (addr - BASE) + 4, &length, sizeof(length));
	memcpy(image + (addr - BASE) + 6, text, length);
	put(POOL + 64 + 8 * i, addr);
	return addr;
}

static void put_class(uint64_t klass, uint32_t layout, uint64_t name,
		      uint64_t super)
{
	put_int(klass + 8, layout);
	put(klass + 24, name);
	put(klass + 48, OBJECT);
	put(klass + 120, super);
	put(klass + 232, POOL);
}

/* One field, "value", in the words of 17 and in those of 21. */
static void put_fields(uint64_t klass)
{
	static const uint16_t tuple[] = { 0, 3, 4, 0, 12 << 2, 0 };
	static const uint8_t stream[] = { 2, 1, 4, 5, 13, 1, 1 };
	put(klass + 456, klass + 128);
	memcpy(image + (klass + 128 - BASE) + 4, tuple, sizeof(tuple));
	put_int(klass + 310, 1);
	put(klass + 464, klass + 160);
	memcpy(image + (klass + 160 - BASE) + 4, stream, sizeof(stream));
}

static void put_method(void)
{
	put(POOL + 24, NODE);
	put(POOL + 16, POOL + 512);
	put(POOL + 512 + 8, POOL);
	put_int(POOL + 60, 8);
	put(CONSTANT + 8, POOL);
	put_int(CONSTANT + 24, 8);
	put_int(CONSTANT + 34, 5);
	put(METHOD + 8, CONSTANT);
	put(METHOD + 16, DATA);
	put(DATA + 8, METHOD);
	put_int(DATA + 16, 64);
	put_int(CODE + 16 + 12, 0x200);
	put(CODE + 16 + 96, NAMES + 64 * 7 + 6);
	put(CODE + 16 + 112, METHOD);
	for (int i = 1; i < 4; i++)
		image[SEGMENTS - BASE + i] = (uint8_t)i;
}

/* Objects of 16 bytes, an array now and then, room for new ones behind. */
static void put_heap(const struct hotspot *hotspot)
{
	uint64_t addr = HEAP;

	for (int i = 0; i < 1024; i++, addr += 16) {
		uint64_t klass = i % 8 ? NODE : ARRAY;

		put(addr, hotspot->compact ? (klass - BASE) << 42 | 1 : 1);
		put(addr + 8,
		    hotspot->compressed_classes ? klass - BASE : klass);
	}
	for (int i = 0; i < 4; i++) {
		uint64_t space = SPACES + 64 + 64 * i;

		put(SPACES + 8 * i, space);
		put(space + 8, HEAP + 0x2000 * i);
		put(space + 16, HEAP + 0x2000 * (i + 1));
		put(space + 24, HEAP + 0x2000 * (i + 1) - 0x100);
		put(SPACES + 0x200 + 8 * i, space);
		put_int(space + 32, 2);
	}
	put(THREADS, THREADS + 64);
	put_int(THREADS + 64, 1);
	put(THREADS + 72, THREADS + 128);
	put(THREADS + 128, THREADS + 256);
	put(THREADS + 256, HEAP + 0x400);
	put(THREADS + 264, HEAP + 0x800);
	put(THREADS + 272, HEAP + 0x1000);
}

static void put_variables(void)
{
	put(VARIABLES, SPACES); /* generations */
	put(VARIABLES + 8, SPACES);
	put(VARIABLES + 64, VARIABLES + 128); /* the code's heaps */
	put_int(VARIABLES + 128, 1);
	put(VARIABLES + 136, VARIABLES + 192);
	put(VARIABLES + 192, VARIABLES + 256);
	put(VARIABLES + 256, CODE);
	put(VARIABLES + 264, CODE + 0x1000);
	put(VARIABLES + 272, SEGMENTS);
	put_int(VARIABLES + 288, 7);
	put(VARIABLES + 512, VARIABLES + 576); /* loaders */
	put(VARIABLES + 584, NODE);
	put(NODE + 144, ARRAY);
}

static const struct hotspot_layout layout = {
	.klass_layout = 8,
	.klass_name = 24,
	.klass_supers = 48,
	.klass_super = 120,
	.klass_next = 144,
	.fields = 456,
	.fields_stream = 464,
	.fields_count = 310,
	.constants = 232,
	.symbol_length = 4,
	.symbol_body = 6,
	.vm_symbols = POOL + 64,
	.pool_size = 64,
	.pool_holder = 24,
	.pool_cache = 16,
	.pool_length = 60,
	.cache_pool = 8,
	.method_const = 8,
	.method_data = 16,
	.method_counters = 24,
	.method_size = 88,
	.const_constants = 8,
	.const_size = 24,
	.const_name = 34,
	.data_method = 8,
	.data_size = 16,
	.counters_size = 64,
	.loaders = VARIABLES + 512,
	.loader_next = 0,
	.loader_klasses = 8,
	.collections = 32,
	.collecting = 40,
	.klass_shift = 42,
	.threads = THREADS,
	.threads_length = 0,
	.threads_array = 8,
	.thread_piece = 0,
	.piece_start = 0,
	.piece_top = 8,
	.piece_end = 16,
	.piece_reserve = HOTSPOT_NONE,
	.g1_bottom = 8,
	.g1_end = 16,
	.g1_top = 24,
	.g1_type = 32,
	.g1_single = 4,
	.g1_continues = 5,
	.serial_young = 0,
	.serial_old = 8,
	.serial_eden = 0,
	.serial_from = 8,
	.serial_to = 16,
	.serial_tenured = 24,
	.space_bottom = 8,
	.space_end = 16,
	.space_top = 24,
	.parallel_young = VARIABLES,
	.parallel_old = VARIABLES + 8,
	.parallel_eden = 0,
	.parallel_from = 8,
	.parallel_to = 16,
	.parallel_tenured = 24,
	.mutable_bottom = 8,
	.mutable_end = 16,
	.mutable_top = 24,
	.code_heaps = VARIABLES + 64,
	.array_length = 0,
	.array_data = 8,
	.heap_memory = 0,
	.heap_segments = 16,
	.heap_shift = 32,
	.virtual_low = 0,
	.virtual_high = 8,
	.block_size = 16,
	.blob_name = 96,
	.blob_size = 12,
	.code_method = 112,
};

static void set_up(struct hotspot *hotspot, uint8_t collector, uint8_t shape)
{
	hotspot->phase = PHASE_READY;
	hotspot->epoch = 1;
	hotspot->at = layout;
	if (shape & 4)
		hotspot->at.fields = HOTSPOT_NONE;
	hotspot->collector = collector % (COLLECTOR_OTHER + 1);
	hotspot->compact = (shape & 3) == 3;
	hotspot->compressed_classes = (shape & 3) != 0;
	hotspot->compressed_oops = shape & 8;
	hotspot->alignment = 8;
	hotspot->header = hotspot->compact ? 8 : 16;
	if ((shape & 3) == 1 || (shape & 3) == 2)
		hotspot->header = 12;
	hotspot->length = hotspot->header;
	hotspot->mark_bits = 39;
	hotspot->narrow_base = BASE;
	hotspot->mirror_klass = 16;
	hotspot->mirror_size = 24;
	hotspot->heap = VARIABLES;
	hotspot->start = HEAP;
	hotspot->end = BASE + SIZE;
	hotspot->region_shift = 13;
	hotspot->regions = SPACES + 0x200;
	hotspot->object = OBJECT;
	hotspot->klass_head = 128;
	hotspot->interpreter = CODE;
	hotspot->interpreter_end = CODE + 0x800;
	hotspot->code_low = CODE;
	hotspot->code_high = CODE + 0x1000;
	hotspot->shared = NAMES;
	hotspot->shared_end = POOL;
}

static void make_image(const struct hotspot *hotspot)
{
	memset(image, 0, sizeof(image));
	put_class(OBJECT, 16, put_name(1, "java/lang/Object"), 0);
	put_class(NODE, 16, put_name(2, "Node"), OBJECT);
	put_name(3, "value");
	put_name(4, "I");
	put_name(5, "run");
	put_class(ARRAY, 0x80100000, put_name(6, "[B"), OBJECT);
	put_name(7, "nmethod");
	put_fields(NODE);
	put_method();
	put_variables();
	put_heap(hotspot);
}

/* Of the layout, which is all of words, what hotspot_open() does not check. */
static void change_layout(struct hotspot *hotspot, uint64_t value)
{
	size_t count = sizeof(hotspot->at) / sizeof(hotspot->at.fields);
	size_t first = offsetof(struct hotspot_layout, fields) / 8;
	int64_t *word = &hotspot->at.klass_layout;

	word[first + value % 0x10000 % (count - first)] =
		(int16_t)(value >> 16);
	hotspot->at.klass_shift = layout.klass_shift;
}

static void change(struct hotspot *hotspot, struct input *input)
{
	while (input->size >= 10) {
		uint16_t at;
		uint64_t value;

		input_take(input, &at, sizeof(at));
		value = input_word(input);
		if (at >= SIZE - 8)
			change_layout(hotspot, value);
		else
			put(BASE + at, value);
	}
}

static void check(const struct query *query, const struct component *got)
{
	if (got->confidence == CONFIDENCE_NONE)
		return;
	expect(got->kind && got->how && got->runtime);
	expect(memchr(got->name, '\0', sizeof(got->name)));
	expect(memchr(got->member, '\0', sizeof(got->member)));
	expect(got->start <= query->addr);
	expect(!got->size || query->addr - got->start < got->size);
}

static int count(void *context, const struct component *object)
{
	return ++*(unsigned *)context > SIZE / 8;
}

static int ignore(void *context, const char *name)
{
	return 0;
}
static void ask(struct hotspot *hotspot)
{
	const uint64_t registers[16] = { METHOD, HEAP, HEAP + 16, DATA, NODE };
	unsigned objects = 0;

	for (uint64_t addr = BASE + 0x1000; addr < BASE + SIZE; addr += 4100) {
		struct query query = {
			.addr = addr,
			.size = addr % 3 ? 8 : 4,
			.write = addr % 2,
			.ip = CODE + 16,
			.candidates = { addr & ~UINT64_C(15), addr - 12,
					addr - 64 },
			.ncandidates = (unsigned)(addr / 4 % 4),
			.registers = registers,
		};
		struct component got = { 0 };

		runtime_hotspot.resolve(hotspot, &query, &got);
		check(&query, &got);
		if (addr % 5 == 0) {
			pages_forget(hotspot->pages);
			runtime_hotspot.epoch(hotspot);
		}
	}
	runtime_hotspot.each(hotspot, &(struct scan){ HEAP, BASE + SIZE, "*",
						      count, &objects });
	runtime_hotspot.classes(hotspot, ignore, NULL);
}

/* All is anonymous memory. */
static struct maps *whole_map(void)
{
	static char text[] = "100000-110000 rw-p 00000000 00:00 0\n";
	_cleanup_(fclosep) FILE *file = fmemopen(text, strlen(text), "r");
	struct maps *maps = NULL;

	expect(file && maps_parse(file, &maps, NULL) == 0);
	return maps;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct maps *maps;
	static struct symbols *symbols;
	static struct pages *pages;
	static struct world world = { .memory = { .read = read_image } };
	static struct view view = { .world = &world };
	struct input input = { data, size };
	struct hotspot *hotspot = calloc(1, sizeof(*hotspot));
	uint8_t collector = input_byte(&input), shape = input_byte(&input);
	expect(hotspot);
	if (!maps) {
		maps = whole_map();
		expect(symbols_new(getpid(), &symbols) == 0);
		pages = pages_new(&world.memory);
		expect(pages);
	}
	world.maps = maps;
	world.symbols = symbols;
	view.pages = pages;
	hotspot->view = &view;
	hotspot->pages = pages;
	set_up(hotspot, collector, shape);
	make_image(hotspot);
	change(hotspot, &input);
	pages_forget(pages);
	ask(hotspot);
	runtime_hotspot.close(hotspot);
	return 0;
}
