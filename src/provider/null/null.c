/* SPDX-License-Identifier: Apache-2.0 */
/* The provider that runs nothing: sandboxes are rows in memory and every command ends at once. It
 * is an example for authors of providers, and unit tests use it. A command prints its input and
 * exits with 0, or with 1 if its last word is `false`. Each connection has a thread, which ends
 * with it. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "base/thread.h"
#include "provider/compute.h"
#include "provider/entries.h"
#include "provider/kinds.h"
#include "provider/templates.h"
#include "wire/agent.h"

#define CONNECTIONS_MAX 256 /* each holds a thread */
#define FRAMES_MAX (2 * WIRE_PAYLOAD_MAX)

struct null_provider {
	struct provider base;
	pthread_mutex_t mutex;       /* guards all below */
	pthread_cond_t disconnected; /* a connection left the list */
	struct map sandboxes;        /* id -> struct null_sandbox */
	struct list connections;
	unsigned connection_count;
};

struct null_sandbox {
	char id[ID_SIZE + 1];
	bool running, paused;
	int64_t started_ms; /* monotonic */
	uint64_t process_last;
	struct sandbox_resources resources;
	char owner[ID_SIZE + 1];
	int64_t lease_epoch;
};

struct null_connection {
	struct list item;
	struct provider *provider;
	char sandbox[ID_SIZE + 1];
	int fd; /* the agent's end */
};

static struct null_provider *as_null(struct provider *p)
{
	assert(p->ops == &provider_null);
	return (struct null_provider *)p;
}

struct null_request {
	struct null_connection *connection;
	struct arena *arena;
	struct span payload;
	struct buf *reply;
};

static int answer_failed(struct null_request *rq, enum error_code code, const char *text,
                         struct error *err)
{
	struct agent_failed failed = {.code = code, .text = text, .hint = ""};

	return wire_encode(rq->reply, AGENT_FAILED, agent_failed_shape, &failed, err);
}

static int answer_no_process(struct null_request *rq, struct error *err)
{
	return answer_failed(rq, ERROR_NOT_FOUND, "no such process: those of 'null' end at once",
	                     err);
}

static int answer_done(struct null_request *rq, struct error *err)
{
	return wire_encode(rq->reply, AGENT_DONE, agent_done_shape, &(struct agent_done){0}, err);
}

/* Messages for a command that has ended already. */
static int answer_nothing(struct null_request *rq UNUSED, struct error *err UNUSED)
{
	return 0;
}

static int answer_ping(struct null_request *rq, struct error *err)
{
	struct agent_pong pong = {.protocol = AGENT_PROTOCOL, .connections = 1, .boot_id = "null"};

	return wire_encode(rq->reply, AGENT_PONG, agent_pong_shape, &pong, err);
}

static uint64_t next_process(struct null_connection *c)
{
	struct provider *p = c->provider;
	uint64_t process = 0;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&as_null(p)->mutex);

	struct null_sandbox *s = map_find(&as_null(p)->sandboxes, c->sandbox);
	if (s)
		process = ++s->process_last;
	return process;
}

static int answer_exec(struct null_request *rq, struct error *err)
{
	struct agent_exec exec;
	const char *last = "";

	if (wire_decode(rq->arena, rq->payload, agent_exec_shape, &exec, sizeof(exec), err) < 0)
		return -1;
	for (const char **arg = exec.args; *arg; arg++)
		last = *arg;
	struct agent_process process = {
	        .process = next_process(rq->connection),
	        .pid = 2,
	        .exit_code = -1,
	        .started_unix_ms = (uint64_t)clock_unix_ms(),
	        .flags = exec.flags,
	        .label = exec.label,
	        .user = exec.user,
	        .cwd = exec.cwd,
	        .args = exec.args,
	};
	if (wire_encode(rq->reply, AGENT_STARTED, agent_process_shape, &process, err) < 0)
		return -1;
	if (exec.flags & AGENT_EXEC_DETACH)
		return answer_done(rq, err);
	struct agent_output output = {.stream = AGENT_STDOUT, .bytes = exec.stdin_bytes};
	if (output.bytes.size > AGENT_DATA_MAX)
		output.bytes.size = AGENT_DATA_MAX;
	if (output.bytes.size > 0 &&
	    wire_encode(rq->reply, AGENT_OUTPUT, agent_output_shape, &output, err) < 0)
		return -1;
	process.state = AGENT_PROCESS_ENDED;
	process.exit_code = strcmp(last, "false") ? 0 : 1;
	process.output_end[0] = output.bytes.size;
	return wire_encode(rq->reply, AGENT_EXIT, agent_process_shape, &process, err);
}

typedef int (*null_answer)(struct null_request *rq, struct error *err);

static const null_answer answers[AGENT_TYPE_COUNT] = {
        [AGENT_PING] = answer_ping,       [AGENT_EXEC] = answer_exec,
        [AGENT_PROCESSES] = answer_done,  [AGENT_ATTACH] = answer_no_process,
        [AGENT_FEED] = answer_no_process, [AGENT_FORGET] = answer_no_process,
        [AGENT_STDIN] = answer_nothing,   [AGENT_STDIN_END] = answer_nothing,
        [AGENT_RESIZE] = answer_nothing,  [AGENT_SIGNAL] = answer_nothing,
        [AGENT_DETACH] = answer_nothing,
};

static int serve_request(struct null_connection *c, struct arena *a, struct buf *in,
                         struct buf *out)
{
	struct error err = {0};
	uint16_t type = AGENT_NONE;

	if (wire_receive(c->fd, DEADLINE_NEVER, &type, in, &err) < 0)
		return -1;
	arena_reset(a);
	buf_reset(out);
	struct null_request rq = {c, a, buf_span(in), out};
	null_answer answer = type < AGENT_TYPE_COUNT ? answers[type] : NULL;
	int ret = answer ? answer(&rq, &err)
	                 : answer_failed(&rq, ERROR_UNSUPPORTED,
	                                 "provider 'null' has no files and no terminals", &err);
	if (ret < 0) {
		buf_reset(out);
		if (answer_failed(&rq, err.code, err.text, &err) < 0)
			return -1;
	}
	return wire_send(c->fd, buf_span(out), DEADLINE_NEVER, &err);
}

static void *serve_connection(void *argument)
{
	struct null_connection *c = argument;
	struct provider *p = c->provider;
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf in = BUF(WIRE_PAYLOAD_MAX);
	AUTO(buf_done) struct buf out = BUF(FRAMES_MAX);

	while (serve_request(c, &a, &in, &out) == 0)
		;
	pthread_mutex_lock(&as_null(p)->mutex);
	list_remove(&c->item);
	as_null(p)->connection_count--;
	/* Under the lock: disconnect_sandbox must not shut down a reused descriptor. */
	close(c->fd);
	pthread_cond_broadcast(&as_null(p)->disconnected);
	pthread_mutex_unlock(&as_null(p)->mutex);
	free(c);
	return NULL;
}

static struct null_sandbox *find_sandbox(struct provider *p, const char *id, struct error *err)
{
	struct null_sandbox *s = map_find(&as_null(p)->sandboxes, id);

	if (!s)
		error_missing(err, HERE, "sandbox", id);
	return s;
}

/* Ends the connections of one sandbox, or of all when `id` is NULL. */
static void disconnect_sandbox(struct provider *p, const char *id)
{
	LIST_EACH (&as_null(p)->connections, struct null_connection, c, item)
		if (!id || !strcmp(c->sandbox, id))
			(void)shutdown(c->fd, SHUT_RDWR);
}

static void run_sandbox(struct null_sandbox *s, const struct sandbox_spec *spec,
                        struct provider_created *ret)
{
	s->running = true;
	s->paused = false;
	s->started_ms = clock_monotonic_ms();
	s->resources = spec->resources;
	s->lease_epoch = spec->lease_epoch;
	(void)snprintf(s->owner, sizeof(s->owner), "%s", spec->owner ? spec->owner : "");
	*ret = (struct provider_created){.disk_is_advisory = true, .effective = spec->resources};
}

static int null_create(struct provider *p, const struct sandbox_spec *spec, int64_t deadline UNUSED,
                       struct provider_created *ret, struct error *err)
{
	if (!id_is_valid(spec->id))
		return FAIL(err, ERROR_INVALID, "'%s' is no sandbox id", spec->id);
	pthread_mutex_lock(&as_null(p)->mutex);
	bool exists = map_find(&as_null(p)->sandboxes, spec->id) != NULL;
	if (!exists) {
		struct null_sandbox *s = memory_new(sizeof(*s));
		memcpy(s->id, spec->id, ID_SIZE);
		run_sandbox(s, spec, ret);
		map_put(&as_null(p)->sandboxes, s->id, s);
	}
	pthread_mutex_unlock(&as_null(p)->mutex);
	return exists ? FAIL(err, ERROR_CONFLICT, "sandbox '%s' exists already", spec->id) : 0;
}

static int null_destroy(struct provider *p, const char *id, int64_t deadline UNUSED,
                        struct error *err UNUSED)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&as_null(p)->mutex);

	free(map_remove(&as_null(p)->sandboxes, id));
	disconnect_sandbox(p, id);
	return 0;
}

static int null_stop(struct provider *p, const char *id, int64_t grace_ms UNUSED,
                     int64_t deadline UNUSED, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&as_null(p)->mutex);

	struct null_sandbox *s = find_sandbox(p, id, err);
	if (s) {
		s->running = s->paused = false;
		disconnect_sandbox(p, id);
	}
	return s ? 0 : -1;
}

static int null_start(struct provider *p, const struct sandbox_spec *spec, int64_t deadline UNUSED,
                      struct provider_created *ret, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&as_null(p)->mutex);

	struct null_sandbox *s = find_sandbox(p, spec->id, err);
	if (s)
		run_sandbox(s, spec, ret);
	return s ? 0 : -1;
}

static int set_paused(struct provider *p, const char *id, bool paused, struct error *err)
{
	int ret = -1;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&as_null(p)->mutex);

	struct null_sandbox *s = find_sandbox(p, id, err);
	if (s && !s->running)
		error_set(err, ERROR_CONFLICT, 0, HERE, "sandbox '%s' is stopped", id);
	else if (s) {
		s->paused = paused;
		ret = 0;
	}
	return ret;
}

static int null_pause(struct provider *p, const char *id, int64_t deadline UNUSED,
                      struct error *err)
{
	return set_paused(p, id, true, err);
}

static int null_resume(struct provider *p, const char *id, int64_t deadline UNUSED,
                       struct error *err)
{
	return set_paused(p, id, false, err);
}

static int null_list(struct provider *p, struct arena *a, struct provider_list *ret,
                     struct error *err UNUSED)
{
	struct provider_list list = {0};
	const char *id = NULL;
	size_t at = 0;

	pthread_mutex_lock(&as_null(p)->mutex);
	list.entries = ARENA_ARRAY(a, struct provider_entry, as_null(p)->sandboxes.count + 1);
	for (struct null_sandbox *s; (s = map_next(&as_null(p)->sandboxes, &at, &id));) {
		struct provider_entry *entry = &list.entries[list.count++];
		memcpy(entry->id, s->id, sizeof(entry->id));
		entry->running = s->running;
		entry->paused = s->paused;
		memcpy(entry->owner, s->owner, sizeof(entry->owner));
		entry->lease_epoch = s->lease_epoch;
	}
	pthread_mutex_unlock(&as_null(p)->mutex);
	*ret = list;
	return 0;
}

static int null_stats(struct provider *p, const char *id, struct provider_stats *ret,
                      struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&as_null(p)->mutex);

	struct null_sandbox *s = find_sandbox(p, id, err);
	if (s)
		*ret = (struct provider_stats){
		        .sampled_unix_ms = clock_unix_ms(),
		        .uptime_ms = s->running ? clock_monotonic_ms() - s->started_ms : 0,
		        .memory_limit_bytes = (uint64_t)s->resources.memory_mb << 20,
		        .disk_limit_bytes = (uint64_t)s->resources.disk_mb << 20,
		        .pids_limit = (uint64_t)s->resources.pids,
		};
	return s ? 0 : -1;
}

static int null_health(struct provider *p UNUSED, struct error *err UNUSED)
{
	return 0;
}

static int null_template(struct provider *p UNUSED, const struct provider_template *request,
                         int64_t deadline UNUSED, struct error *err UNUSED)
{
	if (request->on_progress)
		request->on_progress(request->context, 100, "nothing to do");
	return 0;
}

/* Called with the mutex held. */
static int start_thread(struct provider *p, const char *id, int fd, struct error *err)
{
	AUTO_FREE struct null_connection *c = memory_new(sizeof(*c));
	pthread_attr_t detached;
	pthread_t thread;

	*c = (struct null_connection){.provider = p, .fd = fd};
	memcpy(c->sandbox, id, ID_SIZE);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	errno = pthread_create(&thread, &detached, serve_connection, c);
	pthread_attr_destroy(&detached);
	if (errno)
		return FAIL_ERRNO(err, "start a thread");
	list_append(&as_null(p)->connections, &c->item);
	as_null(p)->connection_count++;
	c = NULL;
	return 0;
}

static int connect_locked(struct provider *p, const char *id, int fd, struct error *err)
{
	struct null_sandbox *s = find_sandbox(p, id, err);

	if (!s)
		return -1;
	if (!s->running || s->paused)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is %s", id,
		            s->running ? "paused" : "stopped");
	if (as_null(p)->connection_count >= CONNECTIONS_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d connections", CONNECTIONS_MAX);
	return start_thread(p, id, fd, err);
}

static int null_connect(struct provider *p, const char *id, int64_t deadline UNUSED, int *ret_fd,
                        struct error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	pthread_mutex_lock(&as_null(p)->mutex);
	int ret = connect_locked(p, id, ends[1], err);
	pthread_mutex_unlock(&as_null(p)->mutex);
	if (ret < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	*ret_fd = ends[0];
	return 0;
}

static void null_give_back(struct provider *p UNUSED, const char *id UNUSED, int fd)
{
	close(fd);
}

static int null_open(const struct provider_options *options UNUSED, struct provider **ret,
                     struct error *err UNUSED)
{
	struct null_provider *p = memory_new(sizeof(*p));

	p->base.ops = &provider_null;
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->disconnected, NULL);
	list_init(&p->connections);
	*ret = &p->base;
	return 0;
}

static void null_close(struct provider *p)
{
	pthread_mutex_lock(&as_null(p)->mutex);
	disconnect_sandbox(p, NULL);
	while (as_null(p)->connection_count > 0)
		pthread_cond_wait(&as_null(p)->disconnected, &as_null(p)->mutex);
	pthread_mutex_unlock(&as_null(p)->mutex);
	map_free_values(&as_null(p)->sandboxes);
	pthread_cond_destroy(&as_null(p)->disconnected);
	pthread_mutex_destroy(&as_null(p)->mutex);
	free(p);
}

static const struct compute_ops null_compute = {
        .connect = null_connect,
        .give_back = null_give_back,
};

const struct provider_ops provider_null = {
        .name = "null",
        .isolation = "nothing runs",
        .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC | PROVIDER_CAN_STATS |
                     PROVIDER_CAN_TEMPLATE | PROVIDER_CAN_PAUSE,
        .open = null_open,
        .close = null_close,
        .create = null_create,
        .destroy = null_destroy,
        .stop = null_stop,
        .start = null_start,
        .pause = null_pause,
        .resume = null_resume,
        .list = null_list,
        .stats = null_stats,
        .health = null_health,
        .template_make = null_template,
        .compute = &null_compute,
};
