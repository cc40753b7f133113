/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "provider/compute.h"
#include "provider/entries.h"
#include "provider/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

char fake_running[] = "running", fake_paused[] = "paused", fake_files[] = "files";

static struct fake *fake_of(struct provider *p)
{
	return (struct fake *)(void *)p;
}

/* Counts the call, with the mutex left held; whether it is to fail. */
static bool fake_enter(struct fake *f, enum call call)
{
	pthread_mutex_lock(&f->mutex);
	f->calls[call]++;
	return f->fails[call];
}

static int fake_leave(struct fake *f, bool fails, struct error *err)
{
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->mutex);
	return fails ? FAIL(err, ERROR_SYSTEM, "the provider fails on purpose") : 0;
}

void fake_tag(struct fake *f, const char *id, const char *owner, int64_t epoch)
{
	struct provider_entry *tag = ARENA_NEW(&f->tag_arena, struct provider_entry);

	*tag = (struct provider_entry){.lease_epoch = epoch};
	snprintf(tag->owner, sizeof(tag->owner), "%s", owner ? owner : "");
	map_put(&f->tags, id, tag);
}

static int fake_create(struct provider *p, const struct sandbox_spec *spec, int64_t deadline UNUSED,
                       struct provider_created *ret, struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_CREATE);

	f->at_gate++;
	pthread_cond_broadcast(&f->changed);
	while (f->is_gate_shut)
		pthread_cond_wait(&f->changed, &f->mutex);
	f->at_gate--;
	if (!fails || f->leaves_remains)
		map_put(&f->sandboxes, spec->id, fails ? fake_files : fake_running);
	fake_tag(f, spec->id, spec->owner, spec->lease_epoch);
	*ret = (struct provider_created){.disk_is_advisory = true, .effective = spec->resources};
	return fake_leave(f, fails, err);
}

/* It begins, and is at work only when it is waited for. */
struct provider_creation {
	const struct sandbox_spec *spec;
};

static struct provider_creation *fake_create_begin(struct provider *p,
                                                   const struct sandbox_spec *spec)
{
	struct provider_creation *c = malloc(sizeof(*c));
	struct fake *f = fake_of(p);

	if (!c)
		abort();
	c->spec = spec;
	if (f->on_begun)
		f->on_begun();
	return c;
}

static int fake_create_end(struct provider *p, struct provider_creation *c, int64_t deadline,
                           struct provider_created *ret, struct error *err)
{
	int result = fake_create(p, c->spec, deadline, ret, err);

	free(c);
	return result;
}

static int fake_destroy(struct provider *p, const char *id, int64_t deadline UNUSED,
                        struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_DESTROY);

	if (!fails)
		map_remove(&f->sandboxes, id);
	return fake_leave(f, fails, err);
}

static int fake_stop(struct provider *p, const char *id, int64_t grace_ms UNUSED,
                     int64_t deadline UNUSED, struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_STOP) || !map_find(&f->sandboxes, id);

	if (!fails) {
		map_put(&f->sandboxes, id, fake_files);
		f->service_count = 0;
	}
	return fake_leave(f, fails, err);
}

static int fake_start(struct provider *p, const struct sandbox_spec *spec, int64_t deadline UNUSED,
                      struct provider_created *ret, struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_START) || !map_find(&f->sandboxes, spec->id);

	if (!fails)
		map_put(&f->sandboxes, spec->id, fake_running);
	*ret = (struct provider_created){.effective = spec->resources};
	return fake_leave(f, fails, err);
}

static int fake_set_to(struct provider *p, enum call call, const char *id, char *value,
                       struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, call);
	const char *now = map_find(&f->sandboxes, id);

	fails = fails || (now != fake_running && now != fake_paused);
	if (!fails)
		map_put(&f->sandboxes, id, value);
	return fake_leave(f, fails, err);
}

static int fake_pause(struct provider *p, const char *id, int64_t deadline UNUSED,
                      struct error *err)
{
	return fake_set_to(p, CALL_PAUSE, id, fake_paused, err);
}

static int fake_resume(struct provider *p, const char *id, int64_t deadline UNUSED,
                       struct error *err)
{
	return fake_set_to(p, CALL_RESUME, id, fake_running, err);
}

static int fake_limit(struct provider *p, const char *id, const struct sandbox_resources *resources,
                      int64_t deadline UNUSED, struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_LIMIT);
	const char *now = map_find(&f->sandboxes, id);

	fails = fails || (now != fake_running && now != fake_paused);
	if (!fails)
		f->limits = *resources;
	return fake_leave(f, fails, err);
}

static int fake_list(struct provider *p, struct arena *a, struct provider_list *ret,
                     struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_LIST);
	const char *id, *value;
	size_t at = 0;

	*ret = (struct provider_list){
	        .entries = ARENA_ARRAY(a, struct provider_entry, f->sandboxes.count + 1)};
	while ((value = map_next(&f->sandboxes, &at, &id))) {
		struct provider_entry *entry = &ret->entries[ret->count++];

		if (map_find(&f->tags, id))
			*entry = *(struct provider_entry *)map_find(&f->tags, id);
		snprintf(entry->id, sizeof(entry->id), "%s", id);
		entry->running = value != fake_files;
		entry->paused = value == fake_paused;
	}
	return fake_leave(f, fails, err);
}

static int fake_stats(struct provider *p, const char *id UNUSED, struct provider_stats *ret,
                      struct error *err)
{
	*ret = (struct provider_stats){.pids = 3};
	return fake_leave(fake_of(p), fake_enter(fake_of(p), CALL_STATS), err);
}

static int fake_template(struct provider *p, const struct provider_template *request,
                         int64_t deadline UNUSED, struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_TEMPLATE);

	f->template_verb = request->verb;
	f->at_gate++;
	pthread_cond_broadcast(&f->changed);
	while (f->is_gate_shut)
		pthread_cond_wait(&f->changed, &f->mutex);
	f->at_gate--;
	if (request->on_progress)
		request->on_progress(request->context, 50, "half way");
	return fake_leave(f, fails, err);
}

struct fake_connection {
	struct fake *fake;
	int fd; /* the agent's end */
};

static int answer_ping(struct fake *f, struct buf *out, struct error *err)
{
	struct agent_pong pong = {
	        .protocol = AGENT_PROTOCOL, .processes = f->processes, .boot_id = "fake"};

	return wire_encode(out, AGENT_PONG, agent_pong_shape, &pong, err);
}

static int answer_hook(struct fake *f, struct buf *out, struct error *err)
{
	struct agent_process process = {.process = 1, .pid = 2, .exit_code = -1};
	const struct agent_failed absent = {
	        .code = ERROR_NOT_FOUND, .text = "no such hook", .hint = ""};

	f->hooks++;
	if (!f->has_hooks)
		return wire_encode(out, AGENT_FAILED, agent_failed_shape, &absent, err);
	if (wire_encode(out, AGENT_STARTED, agent_process_shape, &process, err) < 0)
		return -1;
	process.state = AGENT_PROCESS_ENDED;
	process.exit_code = f->hook_exit;
	return wire_encode(out, AGENT_EXIT, agent_process_shape, &process, err);
}

static int answer_exec(struct fake *f, struct span payload, struct buf *out, struct error *err)
{
	const struct agent_process started = {.process = 1, .pid = 2, .exit_code = -1};
	const struct agent_failed failed = {
	        .code = f->exec_fails, .text = "the agent fails on purpose", .hint = ""};

	struct agent_exec exec;

	if (wire_decode(&f->arena, payload, agent_exec_shape, &exec, sizeof(exec), err) < 0)
		return -1;
	if (exec.flags & AGENT_EXEC_IF_THERE)
		return answer_hook(f, out, err);
	f->execs++;
	f->exec = exec;
	if (f->exec_fails)
		return wire_encode(out, AGENT_FAILED, agent_failed_shape, &failed, err);
	if (wire_encode(out, AGENT_STARTED, agent_process_shape, &started, err) < 0)
		return -1;
	return wire_encode(out, AGENT_DONE, agent_done_shape, &(struct agent_done){0}, err);
}

static struct agent_service *find_service(struct fake *f, const char *id)
{
	for (unsigned i = 0; i < f->service_count; i++)
		if (strcmp(f->services[i].id, id) == 0)
			return &f->services[i];
	return NULL;
}

static int write_service(struct buf *out, const struct agent_service *s, struct error *err)
{
	const bool runs = s->wish == AGENT_SERVICE_RUN;
	const struct agent_service_state state = {
	        .id = s->id,
	        .generation = s->generation,
	        .phase = runs ? AGENT_SERVICE_RUNNING : AGENT_SERVICE_STOPPED,
	        .pid = runs ? 7 : 0,
	        .exit_code = -1,
	        .error = "",
	};

	return wire_encode(out, AGENT_SERVICE_STATE, agent_service_state_shape, &state, err);
}

/* As the agent does: what is not newer changes nothing. */
static void take_service(struct fake *f, const struct agent_service *told)
{
	struct agent_service *known = find_service(f, told->id);

	if (known && told->generation <= known->generation)
		return;
	if (told->wish != AGENT_SERVICE_REMOVE) {
		assert_true(known || f->service_count < AGENT_SERVICES_MAX);
		*(known ? known : &f->services[f->service_count++]) = *told;
	} else if (known) {
		*known = f->services[--f->service_count];
	}
}

static int answer_service(struct fake *f, struct span payload, struct buf *out, struct error *err)
{
	const struct agent_failed failed = {
	        .code = f->services_fail, .text = "the agent fails on purpose", .hint = ""};
	struct agent_service told;

	if (wire_decode(&f->arena, payload, agent_service_shape, &told, sizeof(told), err) < 0)
		return -1;
	f->services_told++;
	if (f->services_fail)
		return wire_encode(out, AGENT_FAILED, agent_failed_shape, &failed, err);
	take_service(f, &told);
	if (write_service(out, &told, err) < 0)
		return -1;
	return wire_encode(out, AGENT_DONE, agent_done_shape, &(struct agent_done){0}, err);
}

static int answer_services(struct fake *f, struct buf *out, struct error *err)
{
	for (unsigned i = 0; i < f->service_count; i++)
		if (write_service(out, &f->services[i], err) < 0)
			return -1;
	return wire_encode(out, AGENT_DONE, agent_done_shape, &(struct agent_done){0}, err);
}

static int answer(struct fake *f, uint16_t type, struct span payload, struct buf *out,
                  struct error *err)
{
	switch (type) {
	case AGENT_EXEC:
		return answer_exec(f, payload, out, err);
	case AGENT_SERVICE:
		return answer_service(f, payload, out, err);
	case AGENT_SERVICES:
		return answer_services(f, out, err);
	default:
		return answer_ping(f, out, err);
	}
}

/* An agent that answers one request. */
static void *fake_agent(void *argument)
{
	AUTO(buf_done) struct buf in = BUF(WIRE_PAYLOAD_MAX);
	AUTO(buf_done) struct buf out = BUF(WIRE_PAYLOAD_MAX);
	struct fake_connection *connection = argument;
	struct fake *f = connection->fake;
	struct error err = {0};
	uint16_t type;
	int answered = -1;

	if (wire_receive(connection->fd, deadline_after(5000), &type, &in, &err) == 0) {
		pthread_mutex_lock(&f->mutex);
		answered = answer(f, type, buf_span(&in), &out, &err);
		pthread_mutex_unlock(&f->mutex);
	}
	if (answered == 0)
		(void)!wire_send(connection->fd, buf_span(&out), deadline_after(5000), &err);
	close(connection->fd);
	free(connection);
	return NULL;
}

static int fake_connect(struct provider *p, const char *id UNUSED, int64_t deadline UNUSED,
                        int *ret_fd, struct error *err)
{
	struct fake_connection *connection = malloc(sizeof(*connection));
	pthread_t thread;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_ERRNO(err, "socket pair");
	connection->fake = fake_of(p);
	connection->fd = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, fake_agent, connection), 0);
	pthread_detach(thread);
	*ret_fd = ends[0];
	return 0;
}

static int fake_measure(struct provider *p, enum provider_measured_kind kind UNUSED,
                        const char *id UNUSED, int64_t deadline UNUSED, uint64_t *ret,
                        struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_MEASURE);

	*ret = (uint64_t)f->measured_bytes;
	return fake_leave(f, fails, err);
}

static const struct compute_ops fake_compute = {.connect = fake_connect};

void fake_init(struct fake *f)
{
	*f = (struct fake){.own = {.name = "fake",
	                           .isolation = "none",
	                           .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC |
	                                        PROVIDER_CAN_STATS | PROVIDER_CAN_BLOCK_NETWORK |
	                                        PROVIDER_CAN_TEMPLATE | PROVIDER_CAN_ISOLATE |
	                                        PROVIDER_SURVIVES | PROVIDER_CAN_PAUSE |
	                                        PROVIDER_CAN_LIMIT,
	                           .create = fake_create,
	                           .create_begin = fake_create_begin,
	                           .create_end = fake_create_end,
	                           .destroy = fake_destroy,
	                           .stop = fake_stop,
	                           .start = fake_start,
	                           .pause = fake_pause,
	                           .resume = fake_resume,
	                           .limit = fake_limit,
	                           .list = fake_list,
	                           .stats = fake_stats,
	                           .measure = fake_measure,
	                           .template_make = fake_template,
	                           .compute = &fake_compute}};
	f->ops = &f->own;
	pthread_mutex_init(&f->mutex, NULL);
	pthread_cond_init(&f->changed, NULL);
}

void fake_done(struct fake *f)
{
	map_done(&f->sandboxes);
	map_done(&f->tags);
	arena_done(&f->tag_arena);
	arena_done(&f->arena);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->mutex);
}

const char *fake_has(struct fake *f, const char *id)
{
	const char *value;

	pthread_mutex_lock(&f->mutex);
	value = map_find(&f->sandboxes, id);
	pthread_mutex_unlock(&f->mutex);
	return value ? value : "nothing";
}

void fake_set(struct fake *f, const char *id, char *value)
{
	pthread_mutex_lock(&f->mutex);
	if (value != fake_running && value != fake_paused)
		f->service_count = 0;
	if (value)
		map_put(&f->sandboxes, id, value);
	else
		map_remove(&f->sandboxes, id);
	pthread_mutex_unlock(&f->mutex);
}

void fake_fail(struct fake *f, enum call call, bool fails)
{
	pthread_mutex_lock(&f->mutex);
	f->fails[call] = fails;
	pthread_mutex_unlock(&f->mutex);
}

void fake_gate(struct fake *f, bool is_shut)
{
	pthread_mutex_lock(&f->mutex);
	f->is_gate_shut = is_shut;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->mutex);
}

void fake_wait_at_gate(struct fake *f)
{
	pthread_mutex_lock(&f->mutex);
	while (f->at_gate == 0)
		pthread_cond_wait(&f->changed, &f->mutex);
	pthread_mutex_unlock(&f->mutex);
}
