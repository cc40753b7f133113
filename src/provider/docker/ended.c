/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/docker/docker.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "provider/agent_health.h"
#include "provider/agent_links.h"
#include "provider/agent_reverse.h"
#include "provider/end.h"

#define LOOK_FIRST_MS 5 /* the daemon notices the end of a container a moment after us */
#define LOOK_MAX_MS 5000
#define LOOKS_MAX 14 /* with growing pauses: half a minute */
#define INSPECT_MS 5000
#define SWEEP_MS 5000
#define IDLE_MS 15000    /* how long a connection to an agent may wait for its next request */
#define KILLED (128 + 9) /* exit status */

/* A sandbox whose agent's control connection broke. */
struct suspect {
	struct list item;
	char id[ID_SIZE + 1];
	unsigned looks;
	int64_t look_at, pause_ms;
};

void docker_set_running(struct provider *p, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&as_docker(p)->mutex);

	map_put(&as_docker(p)->running, id, p);
}

static bool take_running(struct provider *p, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&as_docker(p)->mutex);

	return map_remove(&as_docker(p)->running, id) != NULL;
}

void docker_unset_running(struct provider *p, const char *id)
{
	(void)take_running(p, id);
	agent_links_drop(as_docker(p)->links, id);
	agent_health_forget(id);
}

void docker_suspect(void *provider, const char *id)
{
	struct docker_provider *d = as_docker(provider);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&d->mutex);

	if (d->is_closing || !map_find(&d->running, id))
		return;
	struct suspect *s = memory_new(sizeof(*s));
	memcpy(s->id, id, ID_SIZE);
	s->pause_ms = LOOK_FIRST_MS;
	s->look_at = deadline_after(s->pause_ms);
	list_append(&d->suspects, &s->item);
	pthread_cond_signal(&d->wake);
}

static void report_end(struct provider *p, const char *id, enum sandbox_reason reason)
{
	const struct provider_options *options = &as_docker(p)->options;

	agent_reverse_forget(as_docker(p)->reverse, id);
	if (!take_running(p, id))
		return; /* a destroy or stop came meanwhile */
	docker_unset_running(p, id);
	if (options->on_ended)
		options->on_ended(options->context, id, &(struct provider_end){reason, UINT64_MAX});
}

/* True when there is nothing more to find out. */
static bool inspect_suspect(struct provider *p, struct suspect *s)
{
	struct docker_state state;
	struct error err = {0};

	if (agent_reverse_is_connected(as_docker(p)->reverse, s->id))
		return true;
	if (docker_inspect(p, s->id, deadline_after(INSPECT_MS), &state, &err) == 0) {
		if (state.running)
			return false;
		bool is_oom = state.oom_killed && state.exit_code == KILLED;
		report_end(p, s->id, is_oom ? SANDBOX_REASON_OOM : SANDBOX_REASON_EXIT);
		return true;
	}
	bool is_missing = err.code == ERROR_NOT_FOUND;
	error_clear(&err);
	if (!is_missing || docker_check_daemon(p, deadline_after(INSPECT_MS), &err) < 0) {
		s->looks = 0; /* the daemon is down, or another one: ask until it is back */
		return false;
	}
	report_end(p, s->id, SANDBOX_REASON_EXIT);
	return true;
}

/* The suspect whose time has come, out of the list, or NULL; sets the time of the next one. */
static struct suspect *take_suspect(struct docker_provider *d, int64_t now, int64_t *next)
{
	LIST_EACH (&d->suspects, struct suspect, s, item) {
		if (s->look_at <= now) {
			list_remove(&s->item);
			return s;
		}
		*next = s->look_at < *next ? s->look_at : *next;
	}
	return NULL;
}

static void look_or_keep(struct provider *p, struct suspect *s)
{
	struct docker_provider *d = as_docker(p);
	bool is_done = inspect_suspect(p, s);

	if (is_done || ++s->looks == LOOKS_MAX) {
		if (!is_done)
			log_warning("the agent of a container does not connect any more",
			            TEXT("sandbox", s->id));
		free(s);
		return;
	}
	s->pause_ms = 2 * s->pause_ms < LOOK_MAX_MS ? 2 * s->pause_ms : LOOK_MAX_MS;
	s->look_at = deadline_after(s->pause_ms);
	pthread_mutex_lock(&d->mutex);
	list_append(&d->suspects, &s->item);
	pthread_mutex_unlock(&d->mutex);
}

static void *run_thread(void *argument)
{
	struct provider *p = argument;
	struct docker_provider *d = as_docker(p);
	int64_t sweep_at = deadline_after(SWEEP_MS);
	struct error err = {0};

	if (docker_check_runtime(p, &err) < 0)
		log_error("containers of this provider do not start yet", TEXT("provider", d->name),
		          FAILURE(&err));

	for (;;) {
		int64_t now = clock_monotonic_ms(), next = sweep_at;

		pthread_mutex_lock(&d->mutex);
		struct suspect *s = d->is_closing ? NULL : take_suspect(d, now, &next);
		if (!s && !d->is_closing && now < next)
			thread_wait(&d->wake, &d->mutex, next);
		bool is_closing = d->is_closing;
		pthread_mutex_unlock(&d->mutex);
		if (s)
			look_or_keep(p, s);
		if (is_closing)
			return NULL;
		if (now >= sweep_at) {
			agent_links_sweep(d->links, IDLE_MS);
			sweep_at = deadline_after(SWEEP_MS);
		}
	}
}

int docker_ended_open(struct provider *p, struct error *err)
{
	errno = thread_start(&as_docker(p)->thread, NULL, run_thread, p);
	return errno ? FAIL_ERRNO(err, "start a thread") : 0;
}

void docker_ended_close(struct provider *p)
{
	struct docker_provider *d = as_docker(p);

	pthread_mutex_lock(&d->mutex);
	d->is_closing = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->mutex);
	pthread_join(d->thread, NULL);
	LIST_EACH (&d->suspects, struct suspect, s, item)
		free(s);
}
