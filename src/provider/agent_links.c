/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/agent_links.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "provider/unix_connect.h"

#define WAITING_MAX 8          /* per sandbox */
#define WAITING_MAX_TOTAL 2048 /* descriptors that all of them may hold */

struct agent_waiting {
	struct list item;
	char id[ID_SIZE + 1];
	int fds[WAITING_MAX]; /* newest last: the warmest is taken first */
	unsigned count;
	int64_t used_ms; /* time of the last return */
};

struct agent_links {
	char *run_dir;
	pthread_mutex_t mutex; /* guards all below */
	struct map sandboxes;  /* id -> struct agent_waiting; none is empty */
	struct list by_age;    /* the same, longest unused first */
	unsigned total;
};

struct agent_links *agent_links_new(const char *run_dir)
{
	struct agent_links *links = memory_new(sizeof(*links));

	links->run_dir = memory_text(run_dir);
	pthread_mutex_init(&links->mutex, NULL);
	list_init(&links->by_age);
	return links;
}

/* Called with the mutex held. */
static void forget_connections(struct agent_links *links, struct agent_waiting *waiting)
{
	for (unsigned i = 0; i < waiting->count; i++)
		close(waiting->fds[i]);
	assert(links->total >= waiting->count);
	links->total -= waiting->count;
	map_remove(&links->sandboxes, waiting->id);
	list_remove(&waiting->item);
	free(waiting);
}

void agent_links_free(struct agent_links *links)
{
	if (!links)
		return;
	agent_links_sweep(links, -1);
	assert(links->total == 0 && list_is_empty(&links->by_age));
	map_done(&links->sandboxes);
	pthread_mutex_destroy(&links->mutex);
	free(links->run_dir);
	free(links);
}

int agent_links_connect(struct agent_links *links, const char *id, int64_t deadline, int *ret_fd,
                        struct error *err)
{
	AUTO_CLOSE int folder = -1;
	AUTO_CLOSE int path_fd = -1;
	char name[ID_SIZE + sizeof("/agent.sock")];

	if (!id_is_valid(id))
		return FAIL(err, ERROR_INVALID, "'%s' is no sandbox id", id);
	folder = open(links->run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open '%s'", links->run_dir);
	(void)snprintf(name, sizeof(name), "%s/agent.sock", id);
	if (fd_open_beneath(folder, name, &(struct fd_open_options){.flags = O_PATH}, &path_fd,
	                    err) < 0) {
		/* Its caller has a row with a running sandbox, so the sandbox is known. */
		if (err->code == ERROR_NOT_FOUND)
			return FAIL(err, ERROR_UNAVAILABLE, "sandbox '%s' has just ended", id);
		return FAIL_CONTEXT(err, "agent of sandbox '%s'", id);
	}
	if (unix_connect(path_fd, SOCK_STREAM, deadline, ret_fd, err) < 0)
		return FAIL_CONTEXT(err, "agent of sandbox '%s'", id);
	return 0;
}

/* An agent sends nothing between requests: a readable connection has ended or is out of step. */
static bool is_quiet(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 0;
}

/* -1 when none waits. Called with the mutex held. */
static int pop_connection(struct agent_links *links, const char *id)
{
	struct agent_waiting *waiting = map_find(&links->sandboxes, id);

	if (!waiting)
		return -1;
	assert(waiting->count > 0 && waiting->count <= links->total);
	int fd = waiting->fds[--waiting->count];
	links->total--;
	if (waiting->count == 0)
		forget_connections(links, waiting);
	return fd;
}

int agent_links_take(struct agent_links *links, const char *id)
{
	for (;;) {
		pthread_mutex_lock(&links->mutex);
		int fd = pop_connection(links, id);
		pthread_mutex_unlock(&links->mutex);
		if (fd < 0 || is_quiet(fd))
			return fd;
		close(fd);
	}
}

/* Called with the mutex held. */
static bool push_connection(struct agent_links *links, const char *id, int fd)
{
	struct agent_waiting *waiting = map_find(&links->sandboxes, id);

	if (links->total >= WAITING_MAX_TOTAL || (waiting && waiting->count == WAITING_MAX))
		return false;
	if (!waiting) {
		waiting = memory_new(sizeof(*waiting));
		memcpy(waiting->id, id, ID_SIZE);
		list_init(&waiting->item);
		map_put(&links->sandboxes, waiting->id, waiting);
	}
	assert(waiting->count < WAITING_MAX);
	waiting->fds[waiting->count++] = fd;
	waiting->used_ms = clock_monotonic_ms();
	links->total++;
	list_remove(&waiting->item);
	list_append(&links->by_age, &waiting->item);
	return true;
}

void agent_links_give_back(struct agent_links *links, const char *id, int fd)
{
	struct error err = {0};
	bool kept = false;

	if (id_is_valid(id) && is_quiet(fd) && fd_set_blocking(fd, true, &err) == 0) {
		pthread_mutex_lock(&links->mutex);
		kept = push_connection(links, id, fd);
		pthread_mutex_unlock(&links->mutex);
	}
	if (!kept)
		close(fd);
}

void agent_links_drop(struct agent_links *links, const char *id)
{
	pthread_mutex_lock(&links->mutex);
	struct agent_waiting *waiting = map_find(&links->sandboxes, id);
	if (waiting)
		forget_connections(links, waiting);
	pthread_mutex_unlock(&links->mutex);
}

void agent_links_sweep(struct agent_links *links, int64_t age_ms)
{
	int64_t limit_ms = clock_monotonic_ms() - age_ms;

	pthread_mutex_lock(&links->mutex);
	LIST_EACH (&links->by_age, struct agent_waiting, waiting, item) {
		if (waiting->used_ms >= limit_ms)
			break;
		forget_connections(links, waiting);
	}
	pthread_mutex_unlock(&links->mutex);
}
