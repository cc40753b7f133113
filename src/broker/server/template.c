/* SPDX-License-Identifier: Apache-2.0 */
/* A separate program, atoll-image, makes templates. The broker starts it because it needs root. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/server/images.h"
#include "broker/server/state.h"
#include "wire/broker.h"
#include "wire/broker_template.h"

/* More than the api process works on at once: fleet/core/work_lane.h. */
#define TEMPLATE_TASKS_MAX 80
#define PROGRESS_FD 3
#define SOURCE_FD 4
#define ERROR_FD 5
#define IMAGE_ERROR_MAX 200
#define TEMPLATES_PATH_MAX 4200

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

/* Moves atolld's descriptors to fixed numbers and closes all others. */
static void move_fds(struct template_task *t)
{
	const struct {
		int from, to;
	} rows[] = {{t->progress_fd, PROGRESS_FD},
	            {t->source_fd, SOURCE_FD},
	            {t->error_fd[1], STDERR_FILENO},
	            {t->error_fd[1], STDOUT_FILENO}};
	int high[COUNT_OF(rows)];

	for (unsigned i = 0; i < COUNT_OF(rows); i++)
		high[i] = rows[i].from < 0 ? -1 : fcntl(rows[i].from, F_DUPFD_CLOEXEC, 16);
	for (unsigned i = 0; i < COUNT_OF(rows); i++)
		if (high[i] >= 0 && dup2(high[i], rows[i].to) < 0)
			_exit(126);
	(void)close_range(SOURCE_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	if (t->source_fd < 0)
		(void)close(SOURCE_FD);
	if (t->progress_fd < 0)
		(void)close(PROGRESS_FD);
}

static int exec_image(void *context)
{
	struct template_task *t = context;
	static const char *const verbs[] = {[BROKER_TEMPLATE_BUILD] = "build",
	                                    [BROKER_TEMPLATE_IMPORT] = "import",
	                                    [BROKER_TEMPLATE_REMOVE] = "remove"};
	const struct host *host = &t->broker->host;
	char templates[TEMPLATES_PATH_MAX], size_max[32];
	const char *argv[24] = {"atoll-image", verbs[t->request.verb], "--templates", templates,
	                        "--name",      t->request.name};
	unsigned count = 6;

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* Its helpers (tar, mmdebstrap, skopeo) end with its process group. */
	(void)setpgid(0, 0);
	(void)snprintf(templates, sizeof(templates), "%s/templates", host->data_path);
	if (*t->request.recipe) {
		argv[count++] = "--recipe";
		argv[count++] = t->request.recipe;
	}
	if (*t->request.source) {
		argv[count++] = "--source";
		argv[count++] = t->request.source;
	}
	if (t->source_fd >= 0) {
		argv[count++] = "--source-fd";
		argv[count++] = "4";
	}
	if (t->progress_fd >= 0) {
		argv[count++] = "--progress-fd";
		argv[count++] = "3";
	}
	if (t->request.size_max > 0) {
		(void)snprintf(size_max, sizeof(size_max), "%llu",
		               (unsigned long long)t->request.size_max);
		argv[count++] = "--size-max";
		argv[count++] = size_max;
	}
	if (host->options.registry_private)
		argv[count++] = "--allow-private";
	move_fds(t);
	(void)execv(host->options.image, (char **)(uintptr_t)argv);
	return -1;
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
	error_set(err, ERROR_SYSTEM, 0, HERE, "template '%s': %.*s", t->request.name,
	          (int)last.size, last.data);
}

static void on_image_end(struct broker_child *child, int status)
{
	struct template_task *t = CONTAINER_OF(child, struct template_task, child);
	struct broker_ok ok = {.request = t->reply.request};
	struct error err = {0};

	/* Even a failed attempt may have removed the old template. */
	prewarm_pool_forget_template(&t->broker->prewarm_pool, t->request.name);
	pools_forget_template(&t->broker->pools, t->request.name);
	if (status == 0) {
		server_send(t->broker, t->reply.connection, BROKER_OK, broker_ok_shape, &ok);
	} else {
		read_error(t, &err);
		server_send_failure(t->broker, &t->reply, &err);
	}
	template_free(t);
}

static unsigned count_running(const struct broker *b)
{
	unsigned count = 0;

	for (const struct list *i = b->templates.next; i != &b->templates; i = i->next)
		count++;
	return count;
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

static struct template_task *template_new(struct broker *b, const struct pending_reply *reply,
                                          const struct broker_template *request,
                                          struct wire_fds *fds)
{
	struct template_task *t = memory_new(sizeof(*t));

	*t = (struct template_task){.broker = b,
	                            .reply = *reply,
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
	list_append(&b->templates, &t->item);
	return t;
}

int template_start(struct broker *b, const struct pending_reply *reply,
                   const struct broker_template *request, struct wire_fds *fds, struct error *err)
{
	struct template_task *t;

	if (check_fds(request, fds, err) < 0)
		return -1;
	if (count_running(b) == TEMPLATE_TASKS_MAX)
		return FAIL(err, ERROR_UNAVAILABLE, "%d templates are being made already",
		            TEMPLATE_TASKS_MAX);
	t = template_new(b, reply, request, fds);
	t->child.on_end = on_image_end;
	if (pipe2(t->error_fd, O_CLOEXEC | O_NONBLOCK) < 0) {
		template_free(t);
		return FAIL_ERRNO(err, "make a pipe");
	}
	if (child_start(&b->events, &t->child, exec_image, t, err) < 0) {
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
	LIST_EACH (&b->templates, item) {
		struct template_task *t = LIST_ENTRY(item, struct template_task, item);

		(void)kill(-t->child.pid, SIGTERM);
	}
}
