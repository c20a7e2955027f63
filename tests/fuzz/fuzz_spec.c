/* SPDX-License-Identifier: Apache-2.0 */
/* Any text behind -w. */
#include <errno.h>

#include "tests/fuzz/fuzz.h"
#include "tracer/guard/spec.h"

static void check(const struct spec *spec)
{
	expect(memchr(spec->name, '\0', sizeof(spec->name)));
	expect(memchr(spec->library, '\0', sizeof(spec->library)));
	switch (spec->kind) {
	case SPEC_RANGE:
		expect(spec->start < spec->end);
		expect(spec->end <= UINT64_C(1) << 47);
		break;
	case SPEC_SYMBOL:
		expect(spec->name[0]);
		expect(strstr(spec->text, spec->name));
		expect(!strchr(spec->library, '/'));
		expect(!strncmp(spec->text, spec->library,
				strlen(spec->library)));
		break;
	case SPEC_CLASS:
		expect(spec->name[0]);
		break;
	case SPEC_MAP:
		expect((spec->map == SPEC_MAP_PATH) == (spec->name[0] != '\0'));
		break;
	}
	expect(spec_is_broad(spec) ==
	       (spec->kind == SPEC_CLASS || spec->kind == SPEC_MAP));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	_cleanup_(freep) char *text = input_text(&input);
	struct error err = { 0 };
	struct spec spec, again;
	int r = spec_parse(text, &spec, &err);

	expect(r == 0 || r == -EINVAL);
	expect(err.number == r && (r < 0) == (err.text[0] != '\0'));
	expect(memchr(err.text, '\0', sizeof(err.text)));
	/* Nobody has to ask for the sentence. */
	expect(spec_parse(text, &again, NULL) == r);
	if (r == 0) {
		expect(spec.text == text);
		check(&spec);
	}
	return 0;
}
