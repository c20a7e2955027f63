/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/live.h"

void *scene_space(struct scene *scene, size_t size)
{
	uint8_t *space = scene->arena + scene->used + LIVE_GAP;

	if (scene->place)
		return scene->place(scene, size);
	scene->used += LIVE_GAP + ((size + 15) & ~(size_t)15);
	if (scene->used + LIVE_GAP > LIVE_ARENA)
		abort();

	return space;
}

void *scene_data(struct scene *scene, const void *data, size_t size)
{
	return memcpy(scene_space(scene, size), data, size);
}

char *scene_text(struct scene *scene, const char *text)
{
	return scene_data(scene, text, strlen(text) + 1);
}

void scene_pipe(int fds[2])
{
	if (pipe(fds) || write(fds[1], "hello", 5) != 5)
		abort();
}

int scene_file(void)
{
	int fd = memfd_create("live", 0);

	if (fd < 0 || pwrite(fd, "0123456789", 10, 0) != 10)
		abort();

	return fd;
}
