/* SPDX-License-Identifier: Apache-2.0 */
#include "blob/local/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/thread.h"
#include "blob/blob.h"

#define PIECE (256 * 1024)
#define STACK_SIZE ((size_t)128 * 1024)

struct pump_task {
	struct pump pump;
	int out;
	char bytes[PIECE]; /* on the heap: the stack also holds thread-local variables */
};

static atomic_uint readers;

static void *run_pump(void *context)
{
	struct pump_task *r = context;

	while (r->pump.size > 0) {
		size_t wanted = r->pump.size < PIECE ? (size_t)r->pump.size : PIECE;
		ssize_t got = pread(r->pump.fd, r->bytes, wanted, r->pump.offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || fd_write_all(r->out, r->bytes, (size_t)got, &(struct error){0}) < 0)
			break;
		r->pump.offset += got;
		r->pump.size -= got;
	}
	(void)close(r->out);
	(void)close(r->pump.fd);
	free(r);
	atomic_fetch_sub(&readers, 1);
	return NULL;
}

static int start_thread(struct pump_task *r, struct error *err)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int failure;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
	/* The thread blocks all signals: a reader that closes must not end the process. */
	failure = thread_start(&thread, &attributes, run_pump, r);
	(void)pthread_attr_destroy(&attributes);
	if (failure == 0)
		return 0;
	errno = failure;
	return FAIL_ERRNO(err, "start a thread that reads");
}

int pump_start(const struct pump *pump, int *ret_fd, struct error *err)
{
	struct pump_task *r;
	int ends[2];

	if (atomic_fetch_add(&readers, 1) >= BLOB_READERS_MAX) {
		atomic_fetch_sub(&readers, 1);
		(void)close(pump->fd);
		return FAIL(err, ERROR_LIMIT, "%d blobs are being read already", BLOB_READERS_MAX);
	}
	r = memory_new(sizeof(*r));
	r->pump = *pump;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		(void)FAIL_ERRNO(err, "make a pipe");
	} else {
		r->out = ends[1];
		if (start_thread(r, err) == 0) {
			*ret_fd = ends[0];
			return 0;
		}
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
	atomic_fetch_sub(&readers, 1);
	(void)close(pump->fd);
	free(r);
	return -1;
}
