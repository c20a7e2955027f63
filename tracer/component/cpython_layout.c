/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/cpython.h"

enum { MINORS = 5, FIRST_MINOR = 9 };

static const struct py_layout layouts[MINORS] = {
	{
		.minor = 9,
		.qualname = 856,
		.keys = 864,
		.ascii = 48,
		.compact = 72,
		.pool = 4096,
		.interpreters = 32,
		.interpreter_next = 0,
		.threads = 8,
		.thread_next = 8,
		.thread_interpreter = 16,
		.thread_id = 176,
		.thread_frame = 24,
		.back = 24,
		.code = 32,
		.instruction = 104,
		.sre_mark = 160,
		.sre_stack = 176,
		.co_filename = 104,
		.co_name = 112,
		.co_lines = 120,
		.co_first_line = 40,
		.co_code = 48,
	},
	{
		.minor = 10,
		.qualname = 864,
		.keys = 872,
		.ascii = 48,
		.compact = 72,
		.pool = 16384,
		.interpreters = 32,
		.interpreter_next = 0,
		.threads = 8,
		.thread_next = 8,
		.thread_interpreter = 16,
		.thread_id = 176,
		.thread_frame = 24,
		.back = 24,
		.code = 32,
		.instruction = 96,
		.sre_mark = 160,
		.sre_stack = 176,
		.co_filename = 104,
		.co_name = 112,
		.co_lines = 120,
		.co_first_line = 40,
		.co_code = 48,
	},
	{
		.minor = 11,
		.qualname = 864,
		.keys = 872,
		.ascii = 48,
		.compact = 72,
		.pool = 16384,
		.interpreters = 40,
		.interpreter_next = 0,
		.threads = 16,
		.thread_next = 8,
		.thread_interpreter = 16,
		.thread_id = 152,
		.thread_frame = 56,
		.cframe_frame = 8,
		.cframe_previous = 16,
		.back = 48,
		.code = 32,
		.instruction = 56,
		.owner = 69,
		.sre_mark = 160,
		.sre_stack = 168,
		.co_filename = 112,
		.co_name = 128,
		.co_lines = 136,
		.co_first_line = 72,
		.co_code = 184,
	},
	{
		.minor = 12,
		.qualname = 872,
		.keys = 880,
		.ascii = 40,
		.compact = 56,
		.pool = 16384,
		.interpreters = 40,
		.interpreter_next = 0,
		.threads = 72,
		.thread_next = 8,
		.thread_interpreter = 16,
		.thread_id = 136,
		.thread_frame = 56,
		.cframe_frame = 0,
		.cframe_previous = 8,
		.back = 8,
		.code = 0,
		.instruction = 56,
		.owner = 70,
		.sre_mark = 160,
		.sre_stack = 168,
		.co_filename = 112,
		.co_name = 128,
		.co_lines = 136,
		.co_first_line = 68,
		.co_code = 192,
	},
	{
		.minor = 13,
		.qualname = 872,
		.keys = 880,
		.ascii = 40,
		.compact = 56,
		.pool = 16384,
		.interpreters = 632,
		.interpreter_next = 7264,
		.threads = 7344,
		.thread_next = 8,
		.thread_interpreter = 16,
		.thread_id = 152,
		.thread_frame = 72,
		.back = 8,
		.code = 0,
		.instruction = 56,
		.owner = 70,
		.sre_mark = 168,
		.sre_stack = 176,
		.co_filename = 112,
		.co_name = 128,
		.co_lines = 136,
		.co_first_line = 68,
		.co_code = 200,
	},
};

/* _Py_DebugOffsets of 3.13, as words. */
enum {
	DEBUG_COOKIE = 0,
	DEBUG_VERSION = 1,
	DEBUG_FREE_THREADED = 2,
	DEBUG_INTERPRETERS = 5,
	DEBUG_INTERPRETER_NEXT = 8,
	DEBUG_THREADS = 9,
	DEBUG_THREAD_NEXT = 21,
	DEBUG_THREAD_INTERPRETER = 22,
	DEBUG_THREAD_FRAME = 23,
	DEBUG_THREAD_ID = 24,
	DEBUG_BACK = 29,
	DEBUG_CODE = 30,
	DEBUG_INSTRUCTION = 31,
	DEBUG_OWNER = 33,
	DEBUG_CO_FILENAME = 35,
	DEBUG_CO_QUALNAME = 37,
	DEBUG_CO_LINES = 38,
	DEBUG_CO_FIRST_LINE = 39,
	DEBUG_CO_CODE = 43,
	DEBUG_WORDS = 44,
	DEBUG_FARTHEST = 1 << 20,
};

static const struct {
	unsigned word;
	size_t field;
} debug_offsets[] = {
#define OFFSET(word, name)                                                     \
	{                                                                      \
		word, offsetof(struct py_layout, name)                         \
	}
	OFFSET(DEBUG_INTERPRETERS, interpreters),
	OFFSET(DEBUG_INTERPRETER_NEXT, interpreter_next),
	OFFSET(DEBUG_THREADS, threads),
	OFFSET(DEBUG_THREAD_NEXT, thread_next),
	OFFSET(DEBUG_THREAD_INTERPRETER, thread_interpreter),
	OFFSET(DEBUG_THREAD_FRAME, thread_frame),
	OFFSET(DEBUG_THREAD_ID, thread_id),
	OFFSET(DEBUG_BACK, back),
	OFFSET(DEBUG_CODE, code),
	OFFSET(DEBUG_INSTRUCTION, instruction),
	OFFSET(DEBUG_OWNER, owner),
	OFFSET(DEBUG_CO_FILENAME, co_filename),
	OFFSET(DEBUG_CO_QUALNAME, co_name),
	OFFSET(DEBUG_CO_LINES, co_lines),
	OFFSET(DEBUG_CO_FIRST_LINE, co_first_line),
	OFFSET(DEBUG_CO_CODE, co_code),
#undef OFFSET
};

/* What the process itself says; a word that cannot be is left as it was. */
static void read_debug_offsets(struct cpython *py)
{
	uint64_t word[DEBUG_WORDS];

	if (!py_words(py, py->runtime, word, DEBUG_WORDS) ||
	    memcmp(&word[DEBUG_COOKIE], "xdebugpy", 8) != 0)
		return;
	py->version = (unsigned)word[DEBUG_VERSION];
	if (word[DEBUG_FREE_THREADED] & 1)
		py->reason = "it is built without a global interpreter lock";
	for (size_t i = 0; i < ARRAY_SIZE(debug_offsets); i++) {
		uint32_t offset = (uint32_t)word[debug_offsets[i].word];

		if (word[debug_offsets[i].word] < DEBUG_FARTHEST)
			memcpy((char *)&py->layout + debug_offsets[i].field,
			       &offset, sizeof(offset));
	}
}

/* "python3.11", "libpython3.9.so.1.0": 11, 9; 0: not told. */
static unsigned minor_of(const char *name)
{
	const char *text = strstr(name, "python3.");

	return text ? (unsigned)strtoul(text + 8, NULL, 10) : 0;
}

static uint64_t address_of(const struct cpython *py, const char *name,
			   struct symbol *ret)
{
	struct symbol symbol[4];
	size_t n = symbols_named(py->view->world->symbols, NULL, name, symbol,
				 ARRAY_SIZE(symbol));

	/* An extension module may have symbols of the same name. */
	for (size_t i = 0; i < n && i < ARRAY_SIZE(symbol); i++) {
		if (symbol[i].module != py->module)
			continue;
		if (ret)
			*ret = symbol[i];
		return symbol[i].addr;
	}
	return 0;
}

const struct py_layout *py_layout_of(unsigned minor)
{
	if (minor < FIRST_MINOR || minor >= FIRST_MINOR + MINORS)
		return NULL;
	return &layouts[minor - FIRST_MINOR];
}

static void find_version(struct cpython *py)
{
	uint64_t addr = address_of(py, "Py_Version", NULL), word = 0;
	unsigned minor = minor_of(py->module->name);
	const struct py_layout *layout;

	/* from 3.11 on; a constant */
	if (addr && py_read(py, addr, &word, 4)) {
		py->version = (unsigned)word;
		minor = word >> 16 & 0xff;
	}
	layout = py_layout_of(minor);
	if (!layout) {
		py->reason = "only CPython 3.9 to 3.13 is known";
		return;
	}
	py->layout = *layout;
	if (minor >= 13 && py->runtime)
		read_debug_offsets(py);
}

bool py_find(struct cpython *py, const struct module *module)
{
	struct symbol eval = { 0 };

	py->module = module;
	py->type = address_of(py, "PyType_Type", NULL);
	if (!py->type)
		return false;
	py->list = address_of(py, "PyList_Type", NULL);
	py->dict = address_of(py, "PyDict_Type", NULL);
	py->tuple = address_of(py, "PyTuple_Type", NULL);
	py->str = address_of(py, "PyUnicode_Type", NULL);
	py->integer = address_of(py, "PyLong_Type", NULL);
	py->frame = address_of(py, "PyFrame_Type", NULL);
	py->code_type = address_of(py, "PyCode_Type", NULL);
	py->runtime = address_of(py, "_PyRuntime", NULL);
	if (address_of(py, "_PyEval_EvalFrameDefault", &eval)) {
		py->eval.start = eval.addr;
		py->eval.end = eval.addr + eval.size;
	}
	find_version(py);
	return true;
}
