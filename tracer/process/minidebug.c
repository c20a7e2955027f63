/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <lzma.h>
#include <sys/mman.h>

#include "base/buffer.h"
#include "tracer/process/elf.h"
#include "tracer/process/minidebug.h"

enum {
	PACKED_MAX = 1 << 24,
	PLAIN_MAX = 1 << 26,
	MEMORY_MAX = 1 << 27, /* that a file may make liblzma use */
	PIECE = 1 << 16,
};

/* 0 or -errno. */
static int unpack(lzma_stream *stream, struct buffer *plain)
{
	lzma_ret r = lzma_stream_decoder(stream, MEMORY_MAX, 0);

	while (r == LZMA_OK && plain->size < PLAIN_MAX) {
		char *room = buffer_room(plain, PIECE);

		if (!room)
			return -ENOMEM;
		stream->next_out = (uint8_t *)room;
		stream->avail_out = PIECE;
		r = lzma_code(stream, LZMA_FINISH);
		buffer_take(plain, (char *)stream->next_out);
	}
	return r == LZMA_STREAM_END ? 0 : -EBADMSG;
}

int minidebug_open(int fd)
{
	_cleanup_(buffer_done) struct buffer packed = { 0 };
	_cleanup_(buffer_done) struct buffer plain = { 0 };
	_cleanup_(closep) int file = -1;
	lzma_stream stream = LZMA_STREAM_INIT;
	int r = elf_section(fd, ".gnu_debugdata", PACKED_MAX, &packed);

	if (r < 0)
		return r;
	stream.next_in = (const uint8_t *)packed.data;
	stream.avail_in = packed.size;
	r = unpack(&stream, &plain);
	lzma_end(&stream);
	if (r < 0)
		return r;
	file = memfd_create("minidebug", MFD_CLOEXEC);
	if (file < 0)
		return -errno;
	if (pwrite(file, plain.data, plain.size, 0) != (ssize_t)plain.size)
		return -EIO;
	r = file;
	file = -1;
	return r;
}
