/* SPDX-License-Identifier: Apache-2.0 */
#include <capstone/capstone.h>
#include <errno.h>
#include <string.h>

#include "disasm/text.h"

enum { CACHED = 512 };

/* The same few instructions are asked for again and again. */
struct cached {
	uint64_t ip;
	uint8_t length; /* 0: none */
	uint8_t bytes[INSN_BYTES];
	char text[INSN_TEXT];
};

struct insn_names {
	csh handle;
	cs_insn *buffer;
	struct cached cached[CACHED];
};

int insn_names_new(struct insn_names **ret)
{
	_cleanup_(insn_names_freep) struct insn_names *names =
		calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &names->handle) != CS_ERR_OK)
		return -ENOMEM;
	names->buffer = cs_malloc(names->handle);
	if (!names->buffer)
		return -ENOMEM;
	*ret = take(names);
	return 0;
}

void insn_names_free(struct insn_names *names)
{
	if (!names)
		return;
	if (names->buffer)
		cs_free(names->buffer, 1);
	if (names->handle)
		cs_close(&names->handle);
	free(names);
}

static void put_bytes(const struct insn *insn, char text[INSN_TEXT])
{
	int at = snprintf(text, INSN_TEXT, ".byte");

	for (unsigned i = 0; i < insn->length; i++)
		at += snprintf(text + at, INSN_TEXT - at, "%s 0x%02x",
			       i ? "," : "", insn->bytes[i]);
}

/* With 66 before or after rep Capstone 4 takes words for double words. */
static void mend_string(const struct insn *insn, char *text)
{
	char *end = text + strcspn(text, " "), *word;

	/* rep and its kin are part of the mnemonic, apart by a space. */
	if (!strncmp(text, "rep", 3) && *end)
		end += 1 + strcspn(end + 1, " ");
	if (insn->kind != INSN_STRING || insn->size != 2 || end[-1] != 'd')
		return;
	end[-1] = 'w';
	while ((word = strstr(end, "dword")))
		memmove(word, word + 1, strlen(word));
	word = strstr(end, "eax");
	if (word)
		memmove(word, word + 1, strlen(word));
}

static void disassemble(struct insn_names *names, const struct insn *insn,
			uint64_t ip, char text[INSN_TEXT])
{
	const uint8_t *code = insn->bytes;
	size_t size = insn->length;

	/* It takes indices of some gathers for general registers. */
	if (insn->kind == INSN_GATHER && text_of(insn, ip, text))
		return;
	if (!cs_disasm_iter(names->handle, &code, &size, &ip, names->buffer) ||
	    size != 0) {
		if (!text_of(insn, ip, text))
			put_bytes(insn, text);
		return;
	}
	snprintf(text, INSN_TEXT, "%.31s%s%.127s", names->buffer->mnemonic,
		 names->buffer->op_str[0] ? " " : "", names->buffer->op_str);
	mend_string(insn, text);
}

const char *insn_text(struct insn_names *names, const struct insn *insn,
		      uint64_t ip)
{
	struct cached *cached = &names->cached[(ip ^ ip >> 9) % CACHED];

	if (cached->ip != ip || cached->length != insn->length ||
	    memcmp(cached->bytes, insn->bytes, insn->length) != 0) {
		cached->ip = ip;
		cached->length = insn->length;
		memcpy(cached->bytes, insn->bytes, insn->length);
		disassemble(names, insn, ip, cached->text);
	}
	return cached->text;
}
