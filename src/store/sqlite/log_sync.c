/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/log_sync.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/thread.h"

struct log_sync {
	int fd;
	pthread_t thread; /* does syncs that were started and that no caller waits for yet */
	bool has_thread;
	pthread_mutex_t mutex; /* over the rest */
	pthread_cond_t changed;
	uint64_t marked, begun, done; /* the last mark: given, requested for a sync, synced */
	bool is_busy, is_stopping;
	int failed_errno; /* of the first sync that failed */
};

/* With the mutex held; it is free meanwhile. */
static void sync_log(struct log_sync *log)
{
	uint64_t mark = log->marked;
	int failed;

	log->is_busy = true;
	pthread_mutex_unlock(&log->mutex);
	failed = fdatasync(log->fd) < 0 ? errno : 0;
	pthread_mutex_lock(&log->mutex);
	log->is_busy = false;
	if (failed && !log->failed_errno) {
		log->failed_errno = failed;
		log_error("the database cannot be brought to the disk, refusing changes",
		          NUMBER("errno", failed));
	}
	log->done = mark;
	pthread_cond_broadcast(&log->changed);
}

static void *sync_begun(void *argument)
{
	struct log_sync *log = argument;

	pthread_mutex_lock(&log->mutex);
	while (!log->is_stopping) {
		if (log->begun > log->done && !log->is_busy)
			sync_log(log);
		else
			pthread_cond_wait(&log->changed, &log->mutex);
	}
	pthread_mutex_unlock(&log->mutex);
	return NULL;
}

static int start_thread(struct log_sync *log, struct error *err)
{
	errno = thread_start(&log->thread, NULL, sync_begun, log);
	log->has_thread = errno == 0;
	return log->has_thread ? 0 : FAIL_ERRNO(err, "start the thread that syncs the log");
}

int log_sync_open(const char *path, struct log_sync **ret, struct error *err)
{
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	struct log_sync *log;

	if (fd < 0)
		return FAIL_ERRNO(err, "open the log '%s'", path);
	log = memory_new(sizeof(*log));
	log->fd = TAKE_FD(fd);
	pthread_mutex_init(&log->mutex, NULL);
	pthread_cond_init(&log->changed, NULL);
	if (start_thread(log, err) < 0) {
		log_sync_close(log);
		return -1;
	}
	*ret = log;
	return 0;
}

void log_sync_close(struct log_sync *log)
{
	if (!log)
		return;
	pthread_mutex_lock(&log->mutex);
	log->is_stopping = true;
	pthread_cond_broadcast(&log->changed);
	pthread_mutex_unlock(&log->mutex);
	if (log->has_thread)
		pthread_join(log->thread, NULL);
	auto_close(&log->fd);
	pthread_cond_destroy(&log->changed);
	pthread_mutex_destroy(&log->mutex);
	free(log);
}

uint64_t log_sync_mark(struct log_sync *log)
{
	uint64_t mark;

	pthread_mutex_lock(&log->mutex);
	mark = ++log->marked;
	pthread_mutex_unlock(&log->mutex);
	return mark;
}

uint64_t log_sync_begin(struct log_sync *log)
{
	uint64_t mark;

	pthread_mutex_lock(&log->mutex);
	mark = log->begun = ++log->marked;
	pthread_cond_broadcast(&log->changed);
	pthread_mutex_unlock(&log->mutex);
	return mark;
}

int log_sync_wait(struct log_sync *log, uint64_t mark, struct error *err)
{
	int failed;

	pthread_mutex_lock(&log->mutex);
	while (log->done < mark) {
		if (log->is_busy)
			pthread_cond_wait(&log->changed, &log->mutex);
		else
			sync_log(log);
	}
	failed = log->failed_errno;
	pthread_mutex_unlock(&log->mutex);
	if (!failed)
		return 0;
	errno = failed;
	(void)FAIL_ERRNO(err, "bring the database to the disk");
	return FAIL_HINT(err, "see the kernel's log for the disk, then start the server again");
}
