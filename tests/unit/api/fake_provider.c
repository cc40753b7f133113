/* SPDX-License-Identifier: Apache-2.0 */
/* A provider whose sandboxes are nothing and whose agent answers by a script: each connection has a
 * thread that answers a request by its type and, for files, by its path. The paths /cut, /wild and
 * /long make it break the protocol as a hostile agent would. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "edge/api.h"
#include "harness.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "provider/compute.h"
#include "provider/entries.h"
#include "provider/provider.h"
#include "provider/templates.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "wire/agent_terminal.h"

struct provider {
	const struct provider_ops *ops;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned connections;
};

struct agent {
	struct provider *provider;
	struct arena arena;
	struct buf in, out;
	int fd;
	bool broken;
	char sandbox[ID_SIZE + 1];
};

bool (*fake_agent_hook)(const char *sandbox, int fd, uint16_t type);

static void add(struct agent *a, uint16_t type, const struct wire_member *shape,
                const void *message)
{
	struct error err;

	if (wire_encode(&a->out, type, shape, message, &err) < 0)
		abort();
}

static void add_done(struct agent *a, uint64_t count)
{
	struct agent_done done = {count};

	add(a, AGENT_DONE, agent_done_shape, &done);
}

static void add_failed(struct agent *a, enum error_code code, const char *text)
{
	struct agent_failed failed = {.code = (uint32_t)code, .text = text, .hint = ""};

	add(a, AGENT_FAILED, agent_failed_shape, &failed);
}

static void add_file(struct agent *a, const char *path, uint64_t size)
{
	struct agent_file file = {
	        .path = path,
	        .link = "",
	        .type = AGENT_FILE_REGULAR,
	        .mode = 0644,
	        .size = size,
	        .modified_unix_ms = 1000,
	};

	add(a, AGENT_FILE, agent_file_shape, &file);
}

static void add_data(struct agent *a, const char *text)
{
	wire_add_frame(&a->out, AGENT_DATA, span_of(text));
}

/* ---- files ---- */

static void answer_read(struct agent *a, const struct agent_path *path)
{
	static const char text[] = "one\ntwo\nthree\n";
	const char *name = path->path;
	char part[sizeof(text)];
	uint64_t from = path->offset < sizeof(text) - 1 ? path->offset : sizeof(text) - 1;
	uint64_t size = sizeof(text) - 1 - from;

	if (path->size_max && size > path->size_max)
		size = path->size_max;
	(void)snprintf(part, sizeof(part), "%.*s", (int)size, text + from);
	if (strstr(name, "missing")) {
		add_failed(a, ERROR_NOT_FOUND, "open 'missing': No such file or directory");
		return;
	}
	add_file(a, name,
	         strstr(name, "kernel")  ? 0
	         : strstr(name, "short") ? 99
	                                 : sizeof(text) - 1);
	add_data(a, part);
	if (strstr(name, "long"))
		add_data(a, "more than was announced");
	if (strstr(name, "wild"))
		buf_add_text(&a->out, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
	a->broken = strstr(name, "cut") != NULL;
	add_done(a, 0);
}

static void take_body(struct agent *a, const struct agent_path *path, bool is_tar)
{
	struct error err;
	uint16_t type = AGENT_DATA;
	uint64_t size = 0;

	/* At once: a client may wait for it. */
	wire_add_frame(&a->out, AGENT_READY, (struct span){NULL, 0});
	a->broken = wire_send(a->fd, buf_span(&a->out), deadline_after(10000), &err) < 0;
	buf_reset(&a->out);
	while (type == AGENT_DATA) {
		if (wire_receive(a->fd, deadline_after(10000), &type, &a->in, &err) < 0) {
			a->broken = true;
			return;
		}
		size += type == AGENT_DATA ? a->in.size : 0;
	}
	if (strstr(path->path, "full")) {
		add_failed(a, ERROR_LIMIT, "write 'full': No space left on device");
		return;
	}
	if (!is_tar)
		add_file(a, path->path, size);
	add_done(a, size);
}

static void answer_list(struct agent *a)
{
	add_file(a, "a.txt", 1);
	add_file(a, "b/c.txt", 2);
	add_done(a, 2);
}

static void answer_watch(struct agent *a)
{
	struct agent_change change = {AGENT_CREATED, AGENT_FILE_REGULAR, "new.txt"};
	struct agent_change lost = {AGENT_LOST, AGENT_FILE_OTHER, ""};

	wire_add_frame(&a->out, AGENT_READY, (struct span){NULL, 0});
	add(a, AGENT_CHANGE, agent_change_shape, &change);
	add(a, AGENT_CHANGE, agent_change_shape, &lost);
	a->broken = true; /* then it closes */
}

static void answer_path(struct agent *a, uint16_t type)
{
	struct agent_path path;
	struct error err;

	if (wire_decode(&a->arena, buf_span(&a->in), agent_path_shape, &path, sizeof(path), &err) <
	    0)
		abort();
	switch (type) {
	case AGENT_READ:
		answer_read(a, &path);
		return;
	case AGENT_WRITE:
	case AGENT_TAR_IN:
		take_body(a, &path, type == AGENT_TAR_IN);
		return;
	case AGENT_LIST:
	case AGENT_GLOB:
		answer_list(a);
		return;
	case AGENT_WATCH:
		answer_watch(a);
		return;
	case AGENT_TAR_OUT:
		wire_add_frame(&a->out, AGENT_READY, (struct span){NULL, 0});
		add_data(a, "tar bytes");
		add_done(a, 9);
		return;
	case AGENT_REMOVE:
		add_done(a, 1);
		return;
	default:
		if (strstr(path.path, "missing")) {
			add_failed(a, ERROR_NOT_FOUND, "stat 'missing'");
			return;
		}
		add_file(a, path.path, 3);
		add_done(a, 1);
	}
}

/* ---- processes ---- */

static const struct agent_process running = {
        .process = 1,
        .pid = 7,
        .exit_code = -1,
        .started_unix_ms = 1000,
        .label = "",
        .user = "user",
        .cwd = "/",
        .args = (const char *[]){"sleep", "9", NULL},
};

static void add_output(struct agent *a, enum agent_stream stream, struct span bytes)
{
	struct agent_output output = {stream, 0, bytes};

	add(a, AGENT_OUTPUT, agent_output_shape, &output);
}

static void add_exit(struct agent *a, int64_t code)
{
	struct agent_process p = running;

	p.state = AGENT_PROCESS_ENDED;
	p.exit_code = code;
	p.duration_ms = 5;
	add(a, AGENT_EXIT, agent_process_shape, &p);
}

/* Prints its standard input, or its last argument. There is no bash, no rg and no tsx here. */
static void answer_exec(struct agent *a)
{
	static const char *const absent[] = {"bash", "rg", "tsx", "absent"};
	struct agent_exec exec;
	struct error err;
	const char *last = "";

	if (wire_decode(&a->arena, buf_span(&a->in), agent_exec_shape, &exec, sizeof(exec), &err) <
	    0)
		abort();
	for (unsigned i = 0; i < COUNT_OF(absent); i++) {
		if (strcmp(exec.args[0], absent[i]) == 0) {
			add_failed(a, ERROR_NOT_FOUND, "command not found: 'x'");
			return;
		}
	}
	for (const char **at = exec.args; *at; at++)
		last = *at;
	if (strcmp(last, "die") == 0) {
		a->broken = true;
		return;
	}
	add(a, AGENT_STARTED, agent_process_shape, &running);
	if (exec.flags & AGENT_EXEC_DETACH) {
		add_done(a, 0);
		return;
	}
	if (strcmp(exec.args[0], "grep") == 0)
		add_output(a, AGENT_STDOUT,
		           SPAN("./a.py\0"
		                "3:import os\nnot a match\n./b\0"
		                "x:y\n"));
	else if (strcmp(exec.args[0], "node") == 0)
		add_output(a, AGENT_STDERR, SPAN("node: bad option\n"));
	else
		add_output(a, AGENT_STDOUT,
		           exec.stdin_bytes.size ? exec.stdin_bytes : span_of(last));
	add_exit(a, strcmp(exec.args[0], "node") == 0 ? 9 : strcmp(last, "exit 3") == 0 ? 3 : 0);
}

static void answer_attach(struct agent *a)
{
	struct agent_attach attach;
	struct error err;

	if (wire_decode(&a->arena, buf_span(&a->in), agent_attach_shape, &attach, sizeof(attach),
	                &err) < 0)
		abort();
	if (attach.process != 1) {
		add_failed(a, ERROR_NOT_FOUND, "no process");
		return;
	}
	add(a, AGENT_STARTED, agent_process_shape, &running);
	if (attach.since[0] == 0)
		add_output(a, AGENT_STDOUT, SPAN("log line\n"));
	if (attach.until_end)
		add_exit(a, 0);
	else
		add_done(a, 0);
}

static void answer(struct agent *a, uint16_t type)
{
	switch (type) {
	case AGENT_EXEC:
		answer_exec(a);
		return;
	case AGENT_ATTACH:
		answer_attach(a);
		return;
	case AGENT_PROCESSES:
		add(a, AGENT_PROCESS, agent_process_shape, &running);
		add_done(a, 1);
		return;
	case AGENT_FEED:
	case AGENT_SIGNAL:
	case AGENT_FORGET:
		add_done(a, 0);
		return;
	case AGENT_TERMINAL:
		add(a, AGENT_TERMINAL_STATE, agent_terminal_state_shape,
		    &(struct agent_terminal_state){.rows = 24, .columns = 80});
		add_done(a, 1);
		return;
	case AGENT_STDIN:
	case AGENT_STDIN_END:
		return;
	default:
		answer_path(a, type);
	}
}

static void *serve(void *context)
{
	struct agent *a = context;
	struct provider *p = a->provider;
	struct error err;
	uint16_t type;

	while (!a->broken && wire_receive(a->fd, DEADLINE_NEVER, &type, &a->in, &err) == 0) {
		if (fake_agent_hook && fake_agent_hook(a->sandbox, a->fd, type))
			break;
		answer(a, type);
		if (wire_send(a->fd, buf_span(&a->out), deadline_after(10000), &err) < 0)
			break;
		buf_reset(&a->out);
		arena_reset(&a->arena);
	}
	(void)close(a->fd);
	arena_done(&a->arena);
	buf_done(&a->in);
	buf_done(&a->out);
	free(a);
	(void)pthread_mutex_lock(&p->lock);
	p->connections--;
	(void)pthread_cond_signal(&p->changed);
	(void)pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- the provider ---- */

static int fake_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                        struct error *err)
{
	struct agent *a = calloc(1, sizeof(*a));
	pthread_t thread;
	int pair[2];

	(void)deadline;
	(void)err;
	if (!a || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	a->provider = p;
	a->fd = pair[1];
	(void)snprintf(a->sandbox, sizeof(a->sandbox), "%s", id);
	a->in = BUF(WIRE_PAYLOAD_MAX);
	a->out = BUF(4 * WIRE_PAYLOAD_MAX);
	(void)pthread_mutex_lock(&p->lock);
	p->connections++;
	(void)pthread_mutex_unlock(&p->lock);
	if (pthread_create(&thread, NULL, serve, a) != 0 || pthread_detach(thread) != 0)
		abort();
	*ret_fd = pair[0];
	return 0;
}

static void fake_give_back(struct provider *p, const char *id, int fd)
{
	(void)p;
	(void)id;
	(void)close(fd);
}

static int fake_create(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                       struct provider_created *ret, struct error *err)
{
	(void)p;
	(void)deadline;
	(void)err;
	*ret = (struct provider_created){.disk_is_advisory = true, .effective = spec->resources};
	return 0;
}

static int fake_destroy(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	(void)p;
	(void)id;
	(void)deadline;
	(void)err;
	return 0;
}

static int fake_stop(struct provider *p, const char *id, int64_t grace_ms, int64_t deadline,
                     struct error *err)
{
	(void)grace_ms;
	return fake_destroy(p, id, deadline, err);
}

static int fake_list(struct provider *p, struct arena *a, struct provider_list *ret,
                     struct error *err)
{
	(void)p;
	(void)a;
	(void)err;
	*ret = (struct provider_list){.count = 0};
	return 0;
}

static int fake_stats(struct provider *p, const char *id, struct provider_stats *ret,
                      struct error *err)
{
	(void)p;
	(void)id;
	(void)err;
	*ret = (struct provider_stats){
	        .uptime_ms = 100, .cpu_usage_us = 1000, .disk_bytes = UINT64_MAX};
	return 0;
}

static int fake_health(struct provider *p, struct error *err)
{
	(void)p;
	(void)err;
	return 0;
}

static int fake_template(struct provider *p, const struct provider_template *request,
                         int64_t deadline, struct error *err)
{
	char byte;

	(void)p;
	(void)deadline;
	if (request->verb == PROVIDER_TEMPLATE_IMPORT && request->source_fd >= 0 &&
	    read(request->source_fd, &byte, 1) != 1)
		return FAIL(err, ERROR_INVALID, "the image is empty");
	return 0;
}

static const struct compute_ops fake_compute = {
        .connect = fake_connect,
        .give_back = fake_give_back,
};
static const struct provider_ops fake_ops = {
        .name = "null",
        .isolation = "none",
        .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC | PROVIDER_CAN_PTY | PROVIDER_CAN_FILES |
                     PROVIDER_CAN_STATS | PROVIDER_CAN_BLOCK_NETWORK | PROVIDER_CAN_TEMPLATE,
        .create = fake_create,
        .destroy = fake_destroy,
        .stop = fake_stop,
        .start = fake_create,
        .list = fake_list,
        .stats = fake_stats,
        .health = fake_health,
        .template_make = fake_template,
        .compute = &fake_compute,
};

struct provider *fake_provider_open(void)
{
	struct provider *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	p->ops = &fake_ops;
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_cond_init(&p->changed, NULL);
	return p;
}

void fake_provider_close(struct provider *p)
{
	(void)pthread_mutex_lock(&p->lock);
	while (p->connections > 0)
		(void)pthread_cond_wait(&p->changed, &p->lock);
	(void)pthread_mutex_unlock(&p->lock);
	(void)pthread_mutex_destroy(&p->lock);
	(void)pthread_cond_destroy(&p->changed);
	free(p);
}
