/* SPDX-License-Identifier: Apache-2.0 */
/* A separate program, atoll-image, makes templates. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/host/launcher.h"
#include "broker/host/options.h"
#include "broker/server/images.h"
#include "broker/server/state.h"
#include "wire/broker_template.h"

struct wire_fds;

/* More than the api process works on at once: fleet/core/work_lane.h. */
#define TEMPLATE_TASKS_MAX 80
#define PROGRESS_FD 3
#define SOURCE_FD 4
#define IMAGE_ERROR_MAX 200

struct template_task {
	struct list item;
	struct broker_child child;
	struct broker *broker;
	struct pending_reply reply;
	struct broker_template request; /* texts in the arena */
	struct arena arena;
	int progress_fd, source_fd;
	int error_fd[2]; /* its stderr: the last line is the answer when it fails */
};

static void template_free(struct template_task *t)
{
	list_remove(&t->item);
	fd_forget(&t->progress_fd);
	fd_forget(&t->source_fd);
	fd_forget(&t->error_fd[0]);
	fd_forget(&t->error_fd[1]);
	arena_done(&t->arena);
	free(t);
}

/* atoll-launch starts it: making the root of a system takes every privilege. */
static int start_image(struct template_task *t, struct error *err)
{
	static const char *const verbs[] = {[BROKER_TEMPLATE_BUILD] = "build",
	                                    [BROKER_TEMPLATE_IMPORT] = "import",
	                                    [BROKER_TEMPLATE_REMOVE] = "remove"};
	const struct host *host = &t->broker->host;
	char size_max[32];
	const char *words[24] = {verbs[t->request.verb], "--name", t->request.name};
	struct program program = {.kind = TASK_IMAGE, .count = 3, .words = words};

	if (*t->request.recipe) {
		words[program.count++] = "--recipe";
		words[program.count++] = t->request.recipe;
	}
	if (*t->request.source) {
		words[program.count++] = "--source";
		words[program.count++] = t->request.source;
	}
	if (*t->request.known_digest) {
		words[program.count++] = "--known-digest";
		words[program.count++] = t->request.known_digest;
	}
	if (t->source_fd >= 0) {
		words[program.count++] = "--source-fd";
		words[program.count++] = "4";
		program_hand_on(&program, t->source_fd, SOURCE_FD);
	}
	if (t->progress_fd >= 0) {
		words[program.count++] = "--progress-fd";
		words[program.count++] = "3";
		program_hand_on(&program, t->progress_fd, PROGRESS_FD);
	}
	if (t->request.size_max > 0) {
		(void)snprintf(size_max, sizeof(size_max), "%llu",
		               (unsigned long long)t->request.size_max);
		words[program.count++] = "--size-max";
		words[program.count++] = size_max;
	}
	if (host->options->registry_private)
		words[program.count++] = "--allow-private";
	program_hand_on(&program, t->error_fd[1], STDOUT_FILENO);
	program_hand_on(&program, t->error_fd[1], STDERR_FILENO);
	return child_start_program(&t->broker->events, &t->child, &program, err);
}

/* The last line that the program wrote. */
static void read_error(struct template_task *t, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(64 * 1024);
	struct error ignored = {0};
	struct span rest, line, last = SPAN("atoll-image ended without a word");
	char piece[4096];
	ssize_t got;

	(void)!fd_set_blocking(t->error_fd[0], false, &ignored);
	while ((got = read(t->error_fd[0], piece, sizeof(piece))) > 0)
		buf_add(&text, piece, (size_t)got);
	rest = buf_span(&text);
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (span_trim(line).size > 0)
			last = span_trim(line);
	}
	if (last.size > IMAGE_ERROR_MAX)
		last.size = IMAGE_ERROR_MAX;
	error_set(err, ERROR_SYSTEM, 0, HERE, "%.*s", (int)last.size, last.data);
}

static void on_image_end(struct broker_child *child, int status)
{
	struct template_task *t = CONTAINER_OF(child, struct template_task, child);
	struct error err = {0};

	/* Even a failed attempt may have removed the old template. */
	prewarm_pool_forget_template(&t->broker->prewarm_pool, t->request.name);
	pools_forget_template(&t->broker->pools, t->request.name);
	if (status == 0) {
		server_send_ok(t->broker, &t->reply);
	} else {
		read_error(t, &err);
		server_send_failure(t->broker, &t->reply, &err);
	}
	template_free(t);
}

static int check_fds(const struct broker_template *request, const struct wire_fds *fds,
                     struct error *err)
{
	bool import = request->verb == BROKER_TEMPLATE_IMPORT;
	bool remote = import && strcmp(request->recipe, "registry") == 0;
	unsigned wanted = import && !remote ? 2 : 1;

	/* A removal needs no progress; a registry may need a login. */
	if ((request->verb == BROKER_TEMPLATE_REMOVE && fds->count <= 1) ||
	    (remote && fds->count == 2))
		return 0;
	if (fds->count != wanted)
		return FAIL(err, ERROR_INVALID,
		            "template request comes with %u descriptors, not %u", fds->count,
		            wanted);
	return 0;
}

static struct template_task *template_new(const struct request_context *c,
                                          const struct broker_template *request)
{
	struct wire_fds *fds = c->fds;
	struct template_task *t = memory_new(sizeof(*t));

	*t = (struct template_task){.broker = c->broker,
	                            .reply = c->reply,
	                            .request = *request,
	                            .progress_fd = -1,
	                            .source_fd = -1,
	                            .error_fd = {-1, -1}};
	t->request.name = arena_text(&t->arena, request->name);
	t->request.recipe = arena_text(&t->arena, request->recipe);
	t->request.source = arena_text(&t->arena, request->source);
	if (fds->count > 0)
		t->progress_fd = fds->fds[0];
	if (fds->count > 1)
		t->source_fd = fds->fds[1];
	fds->count = 0;
	list_append(&c->broker->templates, &t->item);
	return t;
}

int template_start(const struct request_context *c, const void *message, struct error *err)
{
	const struct broker_template *request = message;
	struct broker *b = c->broker;
	struct template_task *t;

	if (check_fds(request, c->fds, err) < 0)
		return -1;
	if (list_count(&b->templates) == TEMPLATE_TASKS_MAX)
		return FAIL(err, ERROR_UNAVAILABLE, "%d templates are being made already",
		            TEMPLATE_TASKS_MAX);
	t = template_new(c, request);
	t->child.on_end = on_image_end;
	if (pipe2(t->error_fd, O_CLOEXEC | O_NONBLOCK) < 0) {
		template_free(t);
		return FAIL_ERRNO(err, "make a pipe");
	}
	t->child.host = &b->host;
	if (start_image(t, err) < 0) {
		template_free(t);
		return -1;
	}
	/* Only the child keeps these open, so atolld learns from their end that the child has
	 * ended. */
	fd_forget(&t->error_fd[1]);
	fd_forget(&t->progress_fd);
	fd_forget(&t->source_fd);
	return 0;
}

void templates_kill(struct broker *b)
{
	LIST_EACH (&b->templates, struct template_task, t, item)
		(void)kill(-t->child.pid, SIGTERM);
}
