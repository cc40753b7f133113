/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/docker/docker.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/thread.h"
#include "provider/agent_links.h"
#include "provider/agent_reverse.h"
#include "provider/agent_stop.h"
#include "provider/claims.h"
#include "provider/compute.h"
#include "provider/volume.h"
#include "wire/agent.h"

#define CLEAN_UP_MS 10000       /* to remove a container whose create failed */
#define CLEAN_UP_SILENT_MS 2000 /* after a timeout: the sweep removes it, too */
#define HEALTH_MS 5000
#define LIST_MS 30000
#define LIST_TRIES 4 /* a replacement is finished in at most three */
#define STATS_MS 10000
#define LOOK_MS 500 /* between two looks at a container whose agent is awaited */
#define STOP_SPARE_S 2
#define REMOVAL_LOOK_MS 20

static const int already[] = {304, 0}, missing_is_fine[] = {404, 0}, any[] = {404, 409, 500, 0};

/* Paths are short: two ids and a verb. */
#define CALL_PATH_MAX 256

static void container_path(struct provider *p, const char *id, const char *rest,
                           char out[CALL_PATH_MAX])
{
	char name[DOCKER_NAME_SIZE];

	docker_container_name(as_docker(p)->server, id, name);
	(void)snprintf(out, CALL_PATH_MAX, "/containers/%s%s", name, rest);
}

static int post_verb(struct provider *p, const char *id, const char *verb, const int *accepted,
                     int64_t deadline, struct error *err)
{
	char path[CALL_PATH_MAX];

	container_path(p, id, verb, path);
	const struct docker_call call = {
	        .method = "POST", .path = path, .deadline = deadline, .accepted = accepted};
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

static int check_id(const char *id, struct error *err)
{
	return id_is_valid(id) ? 0 : FAIL(err, ERROR_INVALID, "'%s' is no sandbox id", id);
}

struct docker_look {
	const char *id, *rest; /* "/json", with a query */
	int64_t deadline;
	struct arena *arena;
	struct sandbox_spec *spec; /* also read, or NULL */
};

static int look_at_container(struct provider *p, const struct docker_look *look,
                             struct docker_state *ret, struct error *err)
{
	char path[CALL_PATH_MAX];
	struct docker_answer answer;

	if (check_id(look->id, err) < 0)
		return -1;
	container_path(p, look->id, look->rest, path);
	const struct docker_call call = {.method = "GET",
	                                 .path = path,
	                                 .deadline = look->deadline,
	                                 .accepted = missing_is_fine};
	if (docker_engine_call(as_docker(p)->engine, &call, &answer, err) < 0)
		return -1;
	int status = -1;
	if (answer.status == 404)
		error_missing(err, HERE, "sandbox", look->id);
	else
		status = docker_read_state(look->arena, buf_span(&answer.body), ret, look->spec,
		                           err);
	buf_done(&answer.body);
	return status;
}

static int inspect_path(struct provider *p, const char *id, const char *rest, int64_t deadline,
                        struct docker_state *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct docker_look look = {id, rest, deadline, &arena, NULL};

	return look_at_container(p, &look, ret, err);
}

int docker_inspect(struct provider *p, const char *id, int64_t deadline, struct docker_state *ret,
                   struct error *err)
{
	return inspect_path(p, id, "/json", deadline, ret, err);
}

int docker_read_container(struct provider *p, const struct docker_named *named, struct arena *a,
                          struct docker_state *ret, struct sandbox_spec *ret_spec,
                          struct error *err)
{
	const struct docker_look look = {named->id, "/json", named->deadline, a, ret_spec};

	if (look_at_container(p, &look, ret, err) < 0)
		return -1;
	ret_spec->id = named->id;
	ret_spec->resources.pids =
	        (int64_t)docker_inner_pids(p, (uint64_t)ret_spec->resources.pids);
	return 0;
}

int docker_adopt(struct provider *p, const char *id, const struct docker_state *state,
                 struct error *err)
{
	if (agent_reverse_listens(as_docker(p)->reverse, id))
		return 0;
	return agent_reverse_listen(as_docker(p)->reverse, id, state->token, err);
}

static int check_spec(const struct sandbox_spec *spec, struct error *err)
{
	if (check_id(spec->id, err) < 0)
		return -1;
	if (spec->review)
		return FAIL(err, ERROR_UNSUPPORTED, "provider 'docker' cannot do this: %s",
		            provider_ability_name(PROVIDER_CAN_REVIEW));
	if (spec->snapshot && !id_is_valid(spec->snapshot))
		return FAIL(err, ERROR_INVALID, "'%s' is no snapshot id", spec->snapshot);
	return 0;
}

static int make_network(struct provider *p, int64_t deadline, struct error *err)
{
	static const int exists[] = {409, 0}; /* another create has made it meanwhile */
	AUTO(buf_done) struct buf body = BUF(4096);

	docker_write_network(&body, as_docker(p)->server);
	const struct docker_call make = {.method = "POST",
	                                 .path = "/networks/create",
	                                 .body = buf_span(&body),
	                                 .deadline = deadline,
	                                 .accepted = exists};
	if (docker_engine_do(as_docker(p)->engine, &make, NULL, err) < 0)
		return FAIL_CONTEXT(err, "make network '" DOCKER_NETWORK "'");
	return 0;
}

/* By a single thread: the daemon makes two networks of one name for requests that come together.
 * Looked up for each create: its name alone tells neither who made it nor that it still is there.
 */
static int ensure_network(struct provider *p, int64_t deadline, struct error *err)
{
	const struct docker_call look = {.method = "GET",
	                                 .path = "/networks/" DOCKER_NETWORK,
	                                 .deadline = deadline,
	                                 .accepted = missing_is_fine};
	const struct docker_dialect *dialect;
	struct docker_answer answer;

	if (docker_engine_dialect(as_docker(p)->engine, deadline, &dialect, err) < 0)
		return -1;
	if (!dialect->has_icc)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "%s cannot keep the sandboxes of one network apart: network 'none' is "
		            "possible",
		            dialect->name);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED =
	        thread_lock(&as_docker(p)->network_mutex);
	if (docker_engine_call(as_docker(p)->engine, &look, &answer, err) < 0)
		return -1;
	int status = answer.status == 404 ? make_network(p, deadline, err)
	                                  : docker_check_network(buf_span(&answer.body), err);
	buf_done(&answer.body);
	return status;
}

/* The image is pulled only when it is missing. */
static int make_container(struct provider *p, const struct docker_container *c, int64_t deadline,
                          struct error *err)
{
	if (docker_post_container(p, c, deadline, err) == 0)
		return 0;
	if (err->code == ERROR_CONFLICT) {
		error_clear(err);
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' exists already", c->spec->id);
	}
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (c->spec->snapshot) {
		error_missing(err, HERE, "snapshot", c->spec->snapshot);
		return -1;
	}
	if (docker_image_is_imported(c->spec->template_dir)) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "provider 'docker' has no image of this template");
		return FAIL_HINT(err, "templates that the server builds are not images: create "
		                      "from an image, or from template 'host'");
	}
	if (docker_pull_own(p, c->image, deadline, err) < 0)
		return -1;
	return docker_post_container(p, c, deadline, err);
}

/* The end of the server does not wait for a probe. */
static bool is_closing(struct docker_provider *d)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&d->mutex);

	return d->is_closing;
}

/* A container whose process ends at once would be awaited until the deadline. */
static int await_agent(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	struct docker_state state;

	for (;;) {
		int64_t look_at = deadline_after(LOOK_MS);
		int64_t until = look_at < deadline ? look_at : deadline;

		if (agent_reverse_await(as_docker(p)->reverse, id, until, err) == 0)
			return 0;
		if (err->code != ERROR_TIMEOUT || until == deadline)
			return -1;
		error_clear(err);
		if (is_closing(as_docker(p)))
			return FAIL(err, ERROR_UNAVAILABLE, "the server ends");
		if (docker_inspect(p, id, deadline, &state, err) < 0)
			return -1;
		if (!state.running)
			return FAIL(err, ERROR_SYSTEM,
			            "the agent of sandbox '%s' ended at once with status %lld", id,
			            (long long)state.exit_code);
	}
}

static int run_container(struct provider *p, const char *id, const char *token, int64_t deadline,
                         struct error *err)
{
	if (agent_reverse_listen(as_docker(p)->reverse, id, token, err) < 0 ||
	    post_verb(p, id, "/start", already, deadline, err) < 0 ||
	    await_agent(p, id, deadline, err) < 0)
		return -1;
	docker_set_running(p, id);
	return 0;
}

static void forget_sandbox(struct provider *p, const char *id)
{
	agent_reverse_forget(as_docker(p)->reverse, id);
	agent_reverse_remove_folder(as_docker(p)->reverse, id);
	provider_claim_remove(as_docker(p)->claims_dir, id);
}

int docker_make(struct provider *p, const struct docker_container *wanted, int64_t deadline,
                struct error *err)
{
	const struct sandbox_spec *spec = wanted->spec;
	struct docker_filled c;

	if ((spec->network == SANDBOX_NETWORK_INTERNET && ensure_network(p, deadline, err) < 0) ||
	    docker_check_mounts(p, spec, deadline, err) < 0 ||
	    agent_reverse_make_folder(as_docker(p)->reverse, spec->id, err) < 0)
		return -1;
	docker_fill(p, wanted, &c);
	if (make_container(p, &c.container, deadline, err) == 0 &&
	    run_container(p, spec->id, c.token, deadline, err) == 0 &&
	    docker_own_mounts(p, spec, deadline, err) == 0)
		return 0;
	int64_t clean_up_ms = err->code == ERROR_TIMEOUT ? CLEAN_UP_SILENT_MS : CLEAN_UP_MS;
	/* The sandbox that exists already is another one. */
	if (err->code == ERROR_CONFLICT)
		return -1;
	/* A container that is left cannot start without its folder, and the sweep removes it. */
	if (docker_destroy(p, spec->id, deadline_after(clean_up_ms), &(struct error){0}) < 0)
		forget_sandbox(p, spec->id);
	return -1;
}

static int create_container(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                            struct error *err)
{
	AUTO(buf_done) struct buf image = BUF(1024);

	if (docker_check_gpus(p, spec, deadline, err) < 0 || docker_check_runtime(p, err) < 0)
		return -1;
	if (spec->snapshot)
		docker_snapshot_image(p, spec->snapshot, &image);
	else if (docker_image_of(p, spec->template_dir, &image, err) < 0)
		return -1;
	const struct docker_container c = {.spec = spec, .image = buf_text(&image)};
	return docker_make(p, &c, deadline, err);
}

static struct provider_created created_of(const struct sandbox_spec *spec, int64_t began_ns)
{
	return (struct provider_created){.disk_is_advisory = true,
	                                 .effective = spec->resources,
	                                 .took_us = (clock_monotonic_ns() - began_ns) / 1000};
}

static int docker_create(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                         struct provider_created *ret, struct error *err)
{
	int64_t began_ns = clock_monotonic_ns();

	if (check_spec(spec, err) < 0 || create_container(p, spec, deadline, err) < 0)
		return -1;
	*ret = created_of(spec, began_ns);
	return 0;
}

/* Another removal of the same container may be on its way. */
static int remove_container(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	char path[CALL_PATH_MAX];

	container_path(p, id, "?force=1&v=1", path);
	const struct docker_call call = {.method = "DELETE",
	                                 .path = path,
	                                 .deadline = deadline,
	                                 .accepted = missing_is_fine};
	while (docker_engine_do(as_docker(p)->engine, &call, NULL, err) < 0) {
		if (err->code != ERROR_CONFLICT)
			return -1;
		error_clear(err);
		const struct timespec pause = {.tv_nsec = REMOVAL_LOOK_MS * 1000000};
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int docker_destroy(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	if (check_id(id, err) < 0)
		return -1;
	docker_unset_running(p, id);
	if (strcmp(p->ops->isolation, "namespaces") != 0)
		(void)!post_verb(p, id, "/unpause", any, deadline, &(struct error){0});
	if (remove_container(p, id, deadline, err) < 0)
		return -1;
	forget_sandbox(p, id);
	return 0;
}

static int stop_container(struct provider *p, const char *id, const struct docker_state *state,
                          int64_t grace_ms, int64_t deadline, struct error *err)
{
	char verb[64];

	if (state->paused) {
		/* gVisor does not end while it is frozen. */
		if (strcmp(p->ops->isolation, "namespaces") != 0 &&
		    post_verb(p, id, "/unpause", NULL, deadline, err) < 0)
			return -1;
		if (post_verb(p, id, "/kill?signal=KILL", NULL, deadline, err) < 0)
			return -1;
		return post_verb(p, id, "/wait?condition=not-running", NULL, deadline, err);
	}
	/* Docker knows whole seconds only, and its SIGTERM means the agent's own grace. */
	AUTO_CLOSE int agent UNUSED = agent_stop_begin(p, id, grace_ms);
	(void)snprintf(verb, sizeof(verb), "/stop?t=%" PRId64,
	               (grace_ms + 999) / 1000 + STOP_SPARE_S);
	return post_verb(p, id, verb, already, deadline, err);
}

static int docker_stop(struct provider *p, const char *id, int64_t grace_ms, int64_t deadline,
                       struct error *err)
{
	struct docker_state state;

	if (docker_inspect(p, id, deadline, &state, err) < 0)
		return -1;
	docker_unset_running(p, id);
	if (state.running && stop_container(p, id, &state, grace_ms, deadline, err) < 0)
		return -1;
	agent_reverse_forget(as_docker(p)->reverse, id);
	return 0;
}

static bool has_limits(const struct docker_state *state, const struct sandbox_resources *r)
{
	return state->memory_limit_bytes == r->memory_mb << 20 &&
	       state->cpu_limit_nano == docker_nano_cpus(r) && state->pids_limit == r->pids;
}

static int set_limits(struct provider *p, const char *id, const struct sandbox_resources *resources,
                      int64_t deadline, struct error *err)
{
	const struct docker_dialect *dialect;
	AUTO(buf_done) struct buf body = BUF(1024);
	char path[CALL_PATH_MAX];

	if (docker_engine_dialect(as_docker(p)->engine, deadline, &dialect, err) < 0)
		return -1;
	if (!dialect->has_update)
		return FAIL(err, ERROR_UNSUPPORTED, "%s cannot change the limits of a container",
		            dialect->name);
	docker_write_limits(&body, resources);
	container_path(p, id, "/update", path);
	const struct docker_call call = {
	        .method = "POST", .path = path, .body = buf_span(&body), .deadline = deadline};
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

/* Volumes that were attached or detached meanwhile. */
static int update_mounts(struct provider *p, const struct sandbox_spec *spec,
                         const struct sandbox_spec *has, int64_t deadline, struct error *err)
{
	struct sandbox_spec wanted = *has;

	if (docker_mounts_are_same(spec, has))
		return 0;
	if (docker_check_mounts(p, spec, deadline, err) < 0)
		return -1;
	wanted.mounts = spec->mounts;
	wanted.mount_count = spec->mount_count;
	return docker_replace(p, &(struct docker_container){.spec = &wanted}, deadline, err);
}

/* A stopped container becomes what the spec says. */
static int prepare_start(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                         struct docker_state *ret, struct error *err)
{
	const struct docker_named named = {spec->id, deadline};
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_resources wanted = spec->resources;
	struct sandbox_spec has;

	wanted.pids = docker_kernel_pids(p, wanted.pids);
	if (docker_read_container(p, &named, &arena, ret, &has, err) < 0)
		return -1;
	if (ret->running)
		return 0;
	if (update_mounts(p, spec, &has, deadline, err) < 0 ||
	    docker_inspect(p, spec->id, deadline, ret, err) < 0)
		return -1;
	return has_limits(ret, &wanted) ? 0 : set_limits(p, spec->id, &wanted, deadline, err);
}

static int docker_start(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                        struct provider_created *ret, struct error *err)
{
	int64_t began_ns = clock_monotonic_ns();
	const struct provider_claim claim = {spec->owner, spec->lease_epoch, false};
	struct docker_state state;

	if (prepare_start(p, spec, deadline, &state, err) < 0 ||
	    agent_reverse_make_folder(as_docker(p)->reverse, spec->id, err) < 0 ||
	    provider_claim_write(as_docker(p)->claims_dir, spec->id, &claim, err) < 0 ||
	    run_container(p, spec->id, state.token, deadline, err) < 0 ||
	    docker_own_mounts(p, spec, deadline, err) < 0)
		return -1;
	*ret = created_of(spec, began_ns);
	return 0;
}

static int set_paused(struct provider *p, const char *id, bool paused, int64_t deadline,
                      struct error *err)
{
	struct docker_state state;

	if (docker_inspect(p, id, deadline, &state, err) < 0)
		return -1;
	if (!state.running)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is stopped", id);
	if (state.paused == paused)
		return 0;
	return post_verb(p, id, paused ? "/pause" : "/unpause", NULL, deadline, err);
}

static int docker_pause(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	return set_paused(p, id, true, deadline, err);
}

static int docker_resume(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	return set_paused(p, id, false, deadline, err);
}

static int read_stats(struct provider *p, const char *id, int64_t deadline,
                      struct provider_stats *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	char path[CALL_PATH_MAX];
	struct docker_answer answer;

	container_path(p, id, "/stats?stream=0&one-shot=1", path);
	const struct docker_call call = {.method = "GET", .path = path, .deadline = deadline};
	if (docker_engine_call(as_docker(p)->engine, &call, &answer, err) < 0)
		return -1;
	int status = docker_read_stats(&arena, buf_span(&answer.body), ret, err);
	buf_done(&answer.body);
	return status;
}

static int docker_stats(struct provider *p, const char *id, struct provider_stats *ret,
                        struct error *err)
{
	int64_t deadline = deadline_after(STATS_MS);
	struct provider_stats stats;
	struct docker_state state;

	if (docker_inspect(p, id, deadline, &state, err) < 0 ||
	    read_stats(p, id, deadline, &stats, err) < 0)
		return -1;
	int64_t uptime_ms = stats.sampled_unix_ms - state.started_unix_ms;
	stats.uptime_ms = state.running && uptime_ms > 0 ? uptime_ms : 0;
	stats.oom_kills = state.oom_killed;
	if (stats.pids_limit == 0 && state.pids_limit > 0) /* Podman's statistics lack it */
		stats.pids_limit = (uint64_t)state.pids_limit;
	stats.pids_limit = docker_inner_pids(p, stats.pids_limit);
	*ret = stats;
	return 0;
}

static int docker_limit(struct provider *p, const char *id,
                        const struct sandbox_resources *resources, int64_t deadline,
                        struct error *err)
{
	uint64_t wanted = (uint64_t)resources->memory_mb << 20;
	struct provider_stats stats;
	struct docker_state state;

	if (docker_inspect(p, id, deadline, &state, err) < 0)
		return -1;
	if (!state.running)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is stopped", id);
	if (read_stats(p, id, deadline, &stats, err) < 0)
		return -1;
	if (stats.memory_bytes > wanted)
		return FAIL(err, ERROR_CONFLICT,
		            "sandbox '%s' uses %llu MiB of memory, more than %lld MiB", id,
		            (unsigned long long)stats.memory_bytes >> 20,
		            (long long)resources->memory_mb);
	struct sandbox_resources kernel = *resources;
	kernel.pids = docker_kernel_pids(p, kernel.pids);
	return set_limits(p, id, &kernel, deadline, err);
}

static int adopt_by_id(struct provider *p, const char *id, struct error *err)
{
	struct docker_state state;

	if (agent_reverse_listens(as_docker(p)->reverse, id))
		return 0;
	if (docker_inspect(p, id, deadline_after(STATS_MS), &state, err) < 0)
		return -1;
	if (!state.running)
		return FAIL(err, ERROR_UNAVAILABLE, "sandbox '%s' has just ended", id);
	return docker_adopt(p, id, &state, err);
}

/* Sandboxes that another run of this server made are reached from now on. */
static void take_entry(struct provider *p, struct provider_entry *entry)
{
	struct error err = {0};

	(void)provider_claim_read(as_docker(p)->claims_dir, entry);
	if (!entry->running)
		return;
	if (adopt_by_id(p, entry->id, &err) < 0)
		log_warning("a container's agent cannot be reached", TEXT("sandbox", entry->id),
		            FAILURE(&err));
	else
		docker_set_running(p, entry->id);
}

/* 1: read; 0: an unfinished replacement was finished, so that the list is an old one. */
static int read_list(struct provider *p, const char *path, struct arena *a,
                     struct provider_list *ret, struct error *err)
{
	const struct docker_call call = {
	        .method = "GET", .path = path, .deadline = deadline_after(LIST_MS)};
	struct docker_answer answer;
	bool has_changed;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED =
	        thread_lock(&as_docker(p)->replace_mutex);

	if (docker_engine_call(as_docker(p)->engine, &call, &answer, err) < 0)
		return -1;
	int status = docker_finish_replacements(p, buf_span(&answer.body), call.deadline,
	                                        &has_changed, err);
	if (status == 0 && !has_changed)
		status = docker_read_list(a, buf_span(&answer.body), ret, err) < 0 ? -1 : 1;
	buf_done(&answer.body);
	return status;
}

static int docker_list(struct provider *p, struct arena *a, struct provider_list *ret,
                       struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(1024);
	struct provider_list list = {.count = 0};
	int status = 0;

	docker_write_list_path(&path, DOCKER_CONTAINER_LIST, DOCKER_SERVER_LABEL,
	                       as_docker(p)->server);
	if (docker_check_daemon(p, deadline_after(LIST_MS), err) < 0)
		return -1;
	for (unsigned i = 0; i < LIST_TRIES && status == 0; i++)
		status = read_list(p, buf_text(&path), a, &list, err);
	if (status < 0)
		return -1;
	if (status == 0)
		return FAIL(err, ERROR_UNAVAILABLE, "containers are being replaced");
	for (size_t i = 0; i < list.count; i++)
		take_entry(p, &list.entries[i]);
	*ret = list;
	return 0;
}

static int docker_measure(struct provider *p, enum provider_measured_kind kind, const char *id,
                          int64_t deadline, uint64_t *ret, struct error *err)
{
	struct docker_state state;

	if (kind == PROVIDER_MEASURE_SNAPSHOT)
		return docker_measure_snapshot(p, id, deadline, ret, err);
	if (kind == PROVIDER_MEASURE_VOLUME) {
		const struct provider_volume look = {.verb = PROVIDER_VOLUME_LOOK, .id = id};
		struct provider_volume_state volume = {.used_bytes = 0};

		if (docker_volumes.run(p, &look, deadline, &volume, err) < 0)
			return -1;
		*ret = volume.used_bytes == UINT64_MAX ? 0 : volume.used_bytes;
		return 0;
	}
	if (inspect_path(p, id, "/json?size=1", deadline, &state, err) < 0)
		return -1;
	*ret = state.size_bytes > 0 ? (uint64_t)state.size_bytes : 0;
	return 0;
}

static int docker_health(struct provider *p, struct error *err)
{
	const struct docker_call call = {
	        .method = "GET", .path = "/_ping", .deadline = deadline_after(HEALTH_MS)};

	if (docker_engine_do(as_docker(p)->engine, &call, NULL, err) < 0)
		return -1;
	return docker_check_runtime(p, err);
}

static int docker_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                          struct error *err)
{
	if (agent_reverse_connect(as_docker(p)->reverse, id, deadline, ret_fd, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND || deadline_poll_ms(deadline) == 0)
		return -1;
	error_clear(err);
	if (adopt_by_id(p, id, err) < 0)
		return -1;
	return agent_reverse_connect(as_docker(p)->reverse, id, deadline, ret_fd, err);
}

static int docker_take(struct provider *p, const char *id)
{
	return agent_links_take(as_docker(p)->links, id);
}

static void docker_give_back(struct provider *p, const char *id, int fd)
{
	agent_links_give_back(as_docker(p)->links, id, fd);
}

static void docker_close(struct provider *p)
{
	struct docker_provider *d = as_docker(p);

	if (!p)
		return;
	if (d->base.ops)
		docker_ended_close(p);
	agent_reverse_close(d->reverse);
	agent_links_free(d->links);
	docker_engine_close(d->engine);
	map_done(&d->running);
	pthread_cond_destroy(&d->wake);
	pthread_mutex_destroy(&d->network_mutex);
	pthread_mutex_destroy(&d->runtime_mutex);
	pthread_mutex_destroy(&d->replace_mutex);
	pthread_mutex_destroy(&d->mutex);
	auto_close(&d->lock_fd);
	free(d->root);
	free(d->dir);
	free(d->claims_dir);
	free(d->links_dir);
	free(d);
}

static int open_parts(struct provider *p, struct error *err)
{
	struct docker_provider *d = as_docker(p);
	char links[PATH_SIZE_MAX];

	if (!d->options.docker)
		return FAIL(err, ERROR_INVALID, "provider 'docker' has no options");
	if (docker_check_runtime_name(&d->options, err) < 0 ||
	    docker_engine_open(d->options.docker->host, &d->engine, err) < 0 ||
	    docker_open_folders(d, err) < 0)
		return -1;
	/* By the path that this process knows: it may not be able to pass the absolute one. */
	(void)snprintf(links, sizeof(links), "%.4000s/links", d->dir);
	const struct agent_reverse_options reverse = {
	        .dir = links, .on_gone = docker_suspect, .context = p};
	if (agent_reverse_open(&reverse, &d->reverse, err) < 0)
		return -1;
	d->links = agent_links_new("");
	return docker_ended_open(p, err);
}

static int docker_open(const struct provider_options *options, struct provider **ret,
                       struct error *err)
{
	struct docker_provider *d = memory_new(sizeof(*d));

	d->options = *options;
	atomic_store(&d->docker, options->docker);
	d->name = options->name ? options->name : provider_docker.name;
	d->ops = provider_docker;
	docker_describe(options, &d->ops);
	d->lock_fd = -1;
	pthread_mutex_init(&d->mutex, NULL);
	pthread_mutex_init(&d->network_mutex, NULL);
	pthread_mutex_init(&d->runtime_mutex, NULL);
	pthread_mutex_init(&d->replace_mutex, NULL);
	thread_condition_init(&d->wake);
	list_init(&d->suspects);
	if (open_parts(&d->base, err) < 0) {
		docker_close(&d->base);
		return -1;
	}
	d->base.ops = &d->ops;
	*ret = &d->base;
	return 0;
}

static const struct compute_ops docker_compute = {
        .connect = docker_connect,
        .take = docker_take,
        .give_back = docker_give_back,
};

const struct provider_ops provider_docker = {
        .name = "docker",
        .isolation = "namespaces",
        .templates = "docker/templates",
        .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC | PROVIDER_CAN_PTY | PROVIDER_CAN_FILES |
                     PROVIDER_CAN_STATS | PROVIDER_CAN_BLOCK_NETWORK | PROVIDER_CAN_LIMIT |
                     PROVIDER_CAN_ISOLATE | PROVIDER_SURVIVES | PROVIDER_CAN_TEMPLATE |
                     PROVIDER_CAN_PAUSE | PROVIDER_CAN_SNAPSHOT | PROVIDER_CAN_VOLUME |
                     PROVIDER_CAN_DIAL | PROVIDER_CAN_MEASURE,
        .describe = docker_describe,
        .open = docker_open,
        .close = docker_close,
        .change = docker_change,
        .create = docker_create,
        .destroy = docker_destroy,
        .stop = docker_stop,
        .start = docker_start,
        .pause = docker_pause,
        .resume = docker_resume,
        .limit = docker_limit,
        .list = docker_list,
        .stats = docker_stats,
        .measure = docker_measure,
        .health = docker_health,
        .probe = docker_probe,
        .template_make = docker_template_make,
        .snapshots = &docker_snapshots,
        .volumes = &docker_volumes,
        .compute = &docker_compute,
};
