/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tracer/event/log.h"

enum { PIECE = 64 * 1024 };

bool log_is_numbered(const char *name)
{
	while (name && (name = strchr(name, '%'))) {
		if (name[1] == 'p')
			return true;
		name += 1 + (name[1] == '%');
	}
	return false;
}

static char *expand(const char *name, const char *id)
{
	struct buffer path = { 0 };

	for (; *name; name++) {
		bool number = *name == '%' && name[1] == 'p';

		if (number)
			buffer_string(&path, id);
		else
			buffer_char(&path, *name);
		name += number || (*name == '%' && name[1] == '%');
	}
	buffer_char(&path, '\0');
	if (path.failed)
		buffer_done(&path);
	return path.data;
}

static int open_file(struct log *log, const char *name, const char *id,
		     struct error *err)
{
	_cleanup_(freep) char *path = expand(name, id);

	if (!path)
		return error_set(err, -ENOMEM, "out of memory");
	log->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (log->fd < 0)
		return error_set(err, -errno,
				 "cannot write the log '%s': %s; choose "
				 "another with -o",
				 path, strerror(errno));
	log->owned = true;
	return 0;
}

int log_open(struct log *log, const char *name, const char *id,
	     struct error *err)
{
	struct stat status;
	int r;

	*log = (struct log){ .fd = STDOUT_FILENO };
	r = name ? open_file(log, name, id, err) : 0;
	if (r < 0)
		return r;
	if (fstat(log->fd, &status) < 0)
		return error_set(err, -errno,
				 "standard output is closed; give a file "
				 "with -o");
	log->direct = !S_ISREG(status.st_mode);
	return 0;
}

/* What was written of the buffer ends in a line: the rest of one is cut. */
static void cut_line(const struct log *log, size_t done)
{
	off_t end = lseek(log->fd, 0, SEEK_CUR);
	size_t whole = done;

	while (whole && log->buffer.data[whole - 1] != '\n')
		whole--;
	if (end >= (off_t)(done - whole))
		(void)!ftruncate(log->fd, end - (off_t)(done - whole));
}

void log_flush(struct log *log)
{
	size_t done = 0;

	while (done < log->buffer.size && !log->gone) {
		ssize_t put = write(log->fd, log->buffer.data + done,
				    log->buffer.size - done);

		if (put >= 0) {
			done += (size_t)put;
		} else if (errno != EINTR && errno != EAGAIN) {
			log->gone = true;
			log->number = errno == EPIPE ? 0 : -errno;
			if (log->owned && !log->direct)
				cut_line(log, done);
		}
	}
	buffer_clear(&log->buffer);
}

void log_line(struct log *log)
{
	if (log->buffer.size >= PIECE)
		log_flush(log);
}

void log_settle(struct log *log)
{
	if (log->direct && log->buffer.size)
		log_flush(log);
}

void log_done(struct log *log)
{
	log_flush(log);
	if (log->owned)
		close(log->fd);
	record_memo_done(&log->memo);
	buffer_done(&log->buffer);
	log->owned = false;
}
