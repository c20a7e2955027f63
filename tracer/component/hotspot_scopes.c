/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/hotspot_stack.h"

/*
 * What was inlined where in compiled code (pcDesc.hpp, scopeDesc.cpp): of each
 * place where a frame may be seen by others, a call above all, the chain of
 * methods and bytecodes.  An access need not be one: then the next such place
 * in the code tells, which may be that of another one.
 */

enum { MAX_BCI = 1 << 16, PC_BYTES = 32 };

struct scope {
	const struct java_method *method;
	uint32_t bci;
	bool has_bci;
};

/* Of the first place that is not before @offset. */
static bool find_pc(struct hotspot *hotspot, const struct java_blob *blob,
		    uint32_t offset, uint32_t *at, uint32_t *decode)
{
	const struct hotspot_layout *layout = &hotspot->at;
	uint64_t size = (uint64_t)layout->pc_size;
	uint32_t low = 0, high = blob->npcs;
	uint8_t bytes[PC_BYTES];

	if (layout->pc_size != 16 || layout->pc_offset < 0 ||
	    layout->pc_offset > 12 || layout->pc_scope < 0 ||
	    layout->pc_scope > 12)
		return false;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int32_t pc;

		if (pages_read(hotspot->pages, blob->pcs + size * middle, bytes,
			       size) < 0)
			return false;
		memcpy(&pc, bytes + layout->pc_offset, sizeof(pc));
		if (pc < (int32_t)offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == blob->npcs ||
	    pages_read(hotspot->pages, blob->pcs + size * low, bytes, size) < 0)
		return false;
	memcpy(at, bytes + layout->pc_offset, sizeof(*at));
	memcpy(decode, bytes + layout->pc_scope, sizeof(*decode));
	return true;
}

/* One scope; *@decode becomes that of the scope that it is inlined into. */
static bool read_scope(struct hotspot *hotspot, const struct java_blob *blob,
		       uint32_t *decode, struct scope *ret)
{
	uint64_t addr = blob->scopes + *decode, method;
	uint32_t index, bci;

	if (!hotspot_number(hotspot, &addr, decode) ||
	    !hotspot_number(hotspot, &addr, &index) ||
	    !hotspot_number(hotspot, &addr, &bci) || !index ||
	    index > blob->nmetadata ||
	    !hotspot_word(hotspot, blob->metadata + 8 * (uint64_t)(index - 1),
			  &method))
		return false;
	ret->method = hotspot_method_at(hotspot, method);
	ret->has_bci = bci > 0; /* one more, as -1 is the entry */
	ret->bci = bci - ret->has_bci;
	return ret->method && ret->bci < MAX_BCI &&
	       (!ret->has_bci || ret->bci < ret->method->code_size);
}

/* The chain must end in the method that was compiled.  0: it does not. */
static size_t read_scopes(struct hotspot *hotspot, const struct java_blob *blob,
			  uint32_t decode, struct scope scope[JAVA_SCOPES])
{
	size_t n = 0;

	while (decode && n < JAVA_SCOPES)
		if (!read_scope(hotspot, blob, &decode, &scope[n++]))
			return 0;
	return n && !decode && scope[n - 1].method->addr == blob->method ? n
									 : 0;
}

/* An address that code returns to comes after a call. */
static bool follows_call(struct hotspot *hotspot, uint64_t ip)
{
	uint8_t before[5];

	if (pages_read(hotspot->pages, ip - sizeof(before), before,
		       sizeof(before)) < 0)
		return false;
	return before[0] == 0xe8 || /* call rel32 */
	       (before[3] == 0xff && before[4] >> 3 == (0xc0 >> 3 | 2)) ||
	       /* ff /2: by a register, or by a word at one */
	       (before[3] == 0xff && (before[4] & 0x38) == 0x10) ||
	       (before[2] == 0xff && (before[3] & 0xf8) == 0x50);
}

static struct java_site *new_site(struct hotspot *hotspot,
				  struct java_blob *blob, size_t count)
{
	struct java_site *site =
		calloc(1, sizeof(*site) + count * sizeof(site->scope[0]));

	if (!site)
		return NULL;
	site->blob = blob;
	site->serial = hotspot->serial++;
	site->count = count;
	return site;
}

static void free_site(struct java_site *site)
{
	for (size_t i = 0; site && i < site->count; i++) {
		free(site->scope[i].function);
		free(site->scope[i].file);
	}
	free(site);
}

void hotspot_forget_code(struct hotspot *hotspot)
{
	table_for_each(&hotspot->sites, s) free_site(s->value);
	table_done(&hotspot->sites);
	hotspot_forget_blobs(hotspot);
}

static bool fill_scope(struct hotspot *hotspot, const struct scope *scope,
		       struct java_scope *ret)
{
	const struct java_method *method = scope->method;

	ret->function = strdup(method->name);
	ret->file = method->file ? strdup(method->file) : NULL;
	if (scope->has_bci)
		ret->line = hotspot_line(hotspot, method, scope->bci);
	return ret->function;
}

/*
 * Where nothing is known of the very place, what the next one says of methods
 * is a guess, but for the one that was compiled.
 */
static struct java_site *compiled(struct hotspot *hotspot,
				  struct java_blob *blob, uint64_t ip,
				  bool is_return)
{
	uint32_t offset = (uint32_t)(ip - blob->code), at = UINT32_MAX, decode;
	struct scope scope[JAVA_SCOPES];
	struct java_site *site;
	bool known = find_pc(hotspot, blob, offset, &at, &decode);
	size_t n = known && decode && ip < blob->stubs && ip >= blob->complete
			   ? read_scopes(hotspot, blob, decode, scope)
			   : 0;

	known = known && at == offset;
	if (!n) {
		scope[n++] = (struct scope){
			.method = hotspot_method_at(hotspot, blob->method),
		};
		if (!scope[0].method)
			return NULL;
	}
	if (!known)
		scope[n - 1].has_bci = false;
	site = new_site(hotspot, blob, n);
	for (size_t i = 0; site && i < n; i++) {
		if (!fill_scope(hotspot, &scope[i], &site->scope[i])) {
			free_site(site);
			return NULL;
		}
		site->scope[i].guessed = !known && i + 1 < n;
	}
	if (site)
		site->is_call = is_return && (known || ip == blob->deopt[0] ||
					      ip == blob->deopt[1] ||
					      follows_call(hotspot, ip));
	return site;
}

/* Code of a native method, and of the machine's own: one name. */
static struct java_site *named(struct hotspot *hotspot, struct java_blob *blob,
			       uint64_t ip, bool is_return)
{
	const struct java_method *method =
		blob->kind == JAVA_WRAPPER
			? hotspot_method_at(hotspot, blob->method)
			: NULL;
	struct java_site *site = new_site(hotspot, blob, 1);

	if (!site)
		return NULL;
	site->is_call = is_return && follows_call(hotspot, ip);
	site->scope[0].function = strdup(method ? method->name : blob->name);
	if (site->scope[0].function)
		return site;
	free_site(site);
	return NULL;
}

const struct java_site *hotspot_site(struct hotspot *hotspot, uint64_t ip,
				     bool is_return)
{
	uint64_t key = 2 * ip + is_return;
	struct java_site *site = table_get(&hotspot->sites, key);
	struct java_blob *blob;

	if (site && hotspot_blob_holds(hotspot, site->blob))
		return site;
	if (site)
		hotspot->code_changed = true;
	if (site || hotspot->sites.count >= JAVA_SITES)
		return NULL;
	blob = hotspot_blob_at(hotspot, ip);
	if (!blob)
		return NULL;
	site = blob->kind == JAVA_COMPILED
		       ? compiled(hotspot, blob, ip, is_return)
		       : named(hotspot, blob, ip, is_return);
	if (site && table_put(&hotspot->sites, key, site) == 0)
		return site;
	free_site(site);
	return NULL;
}
