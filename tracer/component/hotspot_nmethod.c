/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/hotspot_stack.h"

enum {
	MAX_FRAME = 1 << 20, /* bytes */
	MAX_PCS = 1 << 20,
	MAX_METADATA = 1 << 16,
};

/* Of 4 bytes, at an offset that this build tells; 0: it does not. */
static uint32_t number(struct hotspot *hotspot, uint64_t start, int64_t at)
{
	uint32_t value;

	return at >= 0 && hotspot_int(hotspot, start + at, &value) ? value : 0;
}

static uint32_t small(struct hotspot *hotspot, uint64_t start, int64_t at)
{
	uint16_t value;

	return at >= 0 && hotspot_short(hotspot, start + at, &value) ? value
								     : 0;
}

static uint64_t pointer(struct hotspot *hotspot, uint64_t start, int64_t at)
{
	uint64_t value;

	return at >= 0 && hotspot_word(hotspot, start + at, &value) ? value : 0;
}

/* Until 22 pointers, from 23 on distances from the block's start. */
static void read_places(struct hotspot *hotspot, struct java_blob *blob)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t start = blob->start;
	uint32_t complete;

	if (at->blob_code >= 0) {
		blob->code = pointer(hotspot, start, at->blob_code);
		blob->entry = pointer(hotspot, start, at->nmethod_entry);
		complete = number(hotspot, start, at->blob_complete);
	} else {
		blob->code =
			start + number(hotspot, start, at->blob_code_offset);
		blob->entry = blob->code +
			      small(hotspot, start, at->nmethod_entry_offset);
		complete = small(hotspot, start, at->blob_complete);
	}
	blob->complete = blob->code + complete;
	blob->stubs = start + number(hotspot, start, at->nmethod_stubs);
	for (int i = 0; i < 2; i++) {
		uint32_t offset =
			number(hotspot, start, at->nmethod_deopt_offset[i]);

		blob->deopt[i] = pointer(hotspot, start, at->nmethod_deopt[i]);
		if (offset && offset != UINT32_MAX)
			blob->deopt[i] = start + offset;
	}
	blob->deopt_place = number(hotspot, start, at->nmethod_pc);
}

/* Where its debug information lies. */
static void read_tables(struct hotspot *hotspot, struct java_blob *blob)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t start = blob->start, pcs_end, metadata_end;

	if (at->nmethod_immutable < 0) {
		blob->pcs = start + number(hotspot, start, at->nmethod_pcs);
		pcs_end = start +
			  number(hotspot, start, at->nmethod_dependencies);
		blob->scopes = pointer(hotspot, start, at->nmethod_scopes);
		blob->metadata =
			start + number(hotspot, start, at->nmethod_metadata);
		metadata_end = blob->scopes;
	} else {
		uint64_t fixed = pointer(hotspot, start, at->nmethod_immutable);
		uint64_t loose = pointer(hotspot, start, at->blob_mutable);

		blob->pcs = fixed + number(hotspot, start, at->nmethod_pcs);
		blob->scopes = fixed + number(hotspot, start,
					      at->nmethod_scopes_offset);
		pcs_end = blob->scopes;
		blob->metadata =
			loose + number(hotspot, start, at->blob_relocations);
		metadata_end = blob->metadata + 8 * MAX_METADATA;
	}
	if (pcs_end > blob->pcs && pcs_end - blob->pcs < MAX_PCS * 16)
		blob->npcs = (uint32_t)((pcs_end - blob->pcs) / 16);
	if (metadata_end > blob->metadata &&
	    metadata_end - blob->metadata <= 8 * MAX_METADATA)
		blob->nmetadata =
			(uint32_t)((metadata_end - blob->metadata) / 8);
}

/*
 * What tells it from another one that was made in its place: code of the
 * machine's own by its name and frame.
 */
static bool read_identity(struct hotspot *hotspot, const struct java_blob *blob,
			  uint64_t *method, uint32_t *id)
{
	const struct hotspot_layout *at = &hotspot->at;
	bool is_method =
		blob->kind == JAVA_COMPILED || blob->kind == JAVA_WRAPPER;
	int64_t word = is_method ? at->code_method : at->blob_name;
	int64_t number = is_method ? at->nmethod_id : at->blob_frame;

	return word >= 0 && number >= 0 &&
	       hotspot_word(hotspot, blob->start + word, method) &&
	       hotspot_int(hotspot, blob->start + number, id);
}

static bool read_blob(struct hotspot *hotspot, struct java_blob *blob)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t name = pointer(hotspot, blob->start, at->blob_name);
	uint32_t words = number(hotspot, blob->start, at->blob_frame);
	char text[COMPONENT_NAME];

	if (!name || !hotspot_text(hotspot, name, text, sizeof(text)))
		return false;
	blob->frame = words < MAX_FRAME / 8 ? 8 * words : 0;
	blob->name = strdup(text);
	if (!blob->name)
		return false;
	read_places(hotspot, blob);
	blob->kind = JAVA_STUB;
	if (!strcmp(text, "vtable chunks"))
		blob->kind = JAVA_VTABLE;
	if (!strcmp(text, "nmethod"))
		blob->kind = JAVA_COMPILED;
	if (!strcmp(text, "native nmethod"))
		blob->kind = JAVA_WRAPPER;
	if (!read_identity(hotspot, blob, &blob->method, &blob->id))
		return false;
	if (blob->kind != JAVA_COMPILED && blob->kind != JAVA_WRAPPER)
		return true;
	read_tables(hotspot, blob);
	return hotspot_method_at(hotspot, blob->method);
}

static void free_blob(struct java_blob *blob)
{
	free(blob->name);
	free(blob);
}

void hotspot_forget_blobs(struct hotspot *hotspot)
{
	table_for_each(&hotspot->blobs, s) free_blob(s->value);
	table_done(&hotspot->blobs);
}

struct java_blob *hotspot_blob_at(struct hotspot *hotspot, uint64_t ip)
{
	struct java_blob *blob;
	uint64_t start;
	uint32_t size;

	if (!hotspot_blob(hotspot, ip, &start, &size))
		return NULL;
	blob = table_get(&hotspot->blobs, start);
	if (blob && hotspot_blob_holds(hotspot, blob))
		return blob;
	if (blob) {
		hotspot->code_changed = true;
		return NULL;
	}
	blob = calloc(1, sizeof(*blob));
	if (!blob)
		return NULL;
	blob->start = start;
	blob->epoch = hotspot->epoch;
	if (read_blob(hotspot, blob) &&
	    table_put(&hotspot->blobs, start, blob) == 0)
		return blob;
	free_blob(blob);
	return NULL;
}

bool hotspot_blob_holds(struct hotspot *hotspot, struct java_blob *blob)
{
	uint64_t method;
	uint32_t id;

	if (blob->epoch == hotspot->epoch)
		return true;
	if (!read_identity(hotspot, blob, &method, &id) ||
	    method != blob->method || id != blob->id)
		return false;
	blob->epoch = hotspot->epoch;
	return true;
}
