/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/worker.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/standby.h"

bool worker_serves(uint16_t type)
{
	return agent_type_is_of_files(type);
}

static void rest_free(struct worker_rest *rest)
{
	(void)munmap(rest, WORKER_REST_SIZE);
}

int worker_start(struct connection *c, struct span bytes, struct error *err)
{
	struct agent *a = c->agent;
	struct worker_rest *rest;
	pid_t pid;

	if (a->worker_count >= WORKERS_MAX)
		return FAIL(err, ERROR_LIMIT, "%d connections are busy with files", WORKERS_MAX);
	rest = mmap(NULL, WORKER_REST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	            0);
	if (rest == MAP_FAILED)
		return FAIL_ERRNO(err, "map memory for a file worker");
	pid = fork();
	if (pid == 0)
		files_serve(&(struct files_options){.connection = c->watch.fd,
		                                    .root = a->root,
		                                    .resolve = a->resolve,
		                                    .host = a->home,
		                                    .bytes = bytes,
		                                    .rest = rest});
	if (pid < 0) {
		int failure = errno;

		rest_free(rest);
		if (failure == EAGAIN && !a->home)
			return standby_serve(c, bytes, err);
		errno = failure;
		return FAIL_ERRNO(err, "start a file worker");
	}
	c->worker = pid;
	c->stops = (struct stops){0};
	c->rest = rest;
	c->room_until = 0;
	a->worker_count++;
	return 1;
}

void worker_stop(struct connection *c)
{
	(void)kill(c->worker, SIGTERM);
	(void)kill(c->worker, SIGCONT); /* root inside may have stopped it */
}

void worker_take_back(struct connection *c, bool goes_on)
{
	struct worker_rest *rest = TAKE(c->rest); /* the next worker has its own */
	size_t size = rest->size;                 /* read once: the standby process may live */

	c->worker = 0;
	assert(c->agent->worker_count > 0);
	c->agent->worker_count--;
	if (goes_on && size <= WORKER_REST_MAX)
		connection_handle(c, (struct span){rest->bytes, size});
	else
		connection_close(c);
	rest_free(rest);
}

bool worker_on_exit(struct agent *a, pid_t pid, int status)
{
	LIST_EACH (&a->connections, struct connection, c, item) {
		if (c->worker == pid) {
			worker_take_back(c, WIFEXITED(status) &&
			                            WEXITSTATUS(status) == WORKER_GIVES_BACK);
			return true;
		}
	}
	return false;
}
