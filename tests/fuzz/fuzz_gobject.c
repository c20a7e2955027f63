/* SPDX-License-Identifier: Apache-2.0 */
/* Any memory as that of GLib's types and their instances. */
#include "tests/fuzz/runtime.h"
#include "tracer/component/gobject.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gobject *gobject = calloc(1, sizeof(*gobject));
	struct image image;

	expect(gobject);
	image_open(&image, data, size);
	gobject->view = &image.view;
	gobject->known = true;
	gobject->nodes = IMAGE;
	gobject->quarks = IMAGE + 2048;
	image_ask(&image, &runtime_gobject, gobject);
	runtime_gobject.close(gobject);
	return 0;
}
