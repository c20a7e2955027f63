/* SPDX-License-Identifier: Apache-2.0 */
/* Any memory as that of Ruby's objects. */
#include "tests/fuzz/runtime.h"
#include "tracer/component/ruby.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ruby *ruby = calloc(1, sizeof(*ruby));
	struct image image;

	expect(ruby);
	image_open(&image, data, size);
	ruby->view = &image.view;
	ruby->supported = true;
	ruby->object = IMAGE + RUBY_PAGE;
	ruby->symbols = IMAGE + RUBY_PAGE + 16;
	image_ask(&image, &runtime_ruby, ruby);
	runtime_ruby.close(ruby);
	return 0;
}
