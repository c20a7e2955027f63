/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tracer/event/writer.h"

struct writer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd;

	/* Under the lock; the piece is the thread's while it is busy. */
	struct buffer piece;
	bool busy, over;
	int result;
};

int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t put = write(fd, data, size);

		if (put >= 0) {
			data += put;
			size -= (size_t)put;
		} else if (errno != EINTR && errno != EAGAIN) {
			return -errno;
		}
	}
	return 0;
}

static void *run(void *argument)
{
	struct writer *writer = argument;
	int r;

	pthread_mutex_lock(&writer->lock);
	for (;;) {
		while (!writer->busy && !writer->over)
			pthread_cond_wait(&writer->changed, &writer->lock);
		if (!writer->busy)
			break;
		pthread_mutex_unlock(&writer->lock);
		r = write_all(writer->fd, writer->piece.data,
			      writer->piece.size);
		pthread_mutex_lock(&writer->lock);
		writer->result = r;
		writer->busy = false;
		pthread_cond_signal(&writer->changed);
	}
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

struct writer *writer_start(int fd)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	sigset_t all, mask;
	int r;

	if (!writer)
		return NULL;
	writer->fd = fd;
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->changed, NULL);
	/* Signals are for the tracer: they end its waiting. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	r = pthread_create(&writer->thread, NULL, run, writer);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (r == 0)
		return writer;
	free(writer);
	return NULL;
}

/* Only one of the two sides ever waits. */
static int wait_idle(struct writer *writer)
{
	while (writer->busy)
		pthread_cond_wait(&writer->changed, &writer->lock);
	return writer->result;
}

int writer_put(struct writer *writer, struct buffer *buffer)
{
	struct buffer piece;
	int r;

	pthread_mutex_lock(&writer->lock);
	r = wait_idle(writer);
	if (r == 0) {
		piece = writer->piece;
		writer->piece = *buffer;
		*buffer = piece;
		writer->busy = true;
		pthread_cond_signal(&writer->changed);
	}
	pthread_mutex_unlock(&writer->lock);
	buffer_clear(buffer);
	return r;
}

int writer_wait(struct writer *writer)
{
	int r;

	pthread_mutex_lock(&writer->lock);
	r = wait_idle(writer);
	pthread_mutex_unlock(&writer->lock);
	return r;
}

void writer_stop(struct writer *writer)
{
	if (!writer)
		return;
	pthread_mutex_lock(&writer->lock);
	writer->over = true;
	pthread_cond_signal(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	pthread_join(writer->thread, NULL);
	pthread_cond_destroy(&writer->changed);
	pthread_mutex_destroy(&writer->lock);
	buffer_done(&writer->piece);
	free(writer);
}
