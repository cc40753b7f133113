/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/service.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/epoll.h>

#include "agent/connection.h"
#include "agent/process.h"
#include "agent/tree.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"

#define REMOVED_MAX 64   /* that are remembered */
#define HEALTHY_MS 10000 /* a run of this length resets the count of quick ends */
#define DELAY_MAX_MS 60000
#define FORERUNNER_MS 20 /* until the next check whether the process is gone */
#define RESTARTS_SHIFT_MAX 16

struct service *service_find(struct agent *a, const char *id)
{
	LIST_EACH (&a->services, struct service, s, item)
		if (strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

const struct ring *service_ring(const struct service *s, unsigned stream)
{
	return s->process ? &s->process->out[stream].ring : &s->rings[stream];
}

struct agent_service_state service_state(const struct service *s)
{
	struct agent_service_state state = s->last;
	int64_t left = s->start_at == DEADLINE_NEVER ? 0 : s->start_at - clock_monotonic_ms();

	state.id = s->id;
	state.generation = s->generation;
	state.phase = s->phase;
	state.restarts = s->restarts;
	state.failures = s->failures;
	state.error = s->error;
	state.again_ms = left > 0 ? (uint64_t)left : 0;
	if (s->process) {
		state.process = s->process->info.process;
		state.pid = s->process->info.pid;
	}
	for (unsigned i = 0; i < 2; i++) {
		state.output_start[i] = service_ring(s, i)->start;
		state.output_end[i] = service_ring(s, i)->end;
	}
	return state;
}

static void spec_done(struct service_spec *spec)
{
	arena_done(&spec->arena);
	*spec = (struct service_spec){.says = {.id = NULL}};
}

static struct service *service_new(struct agent *a, const char *id)
{
	struct service *s = memory_new(sizeof(*s));

	s->agent = a;
	memcpy(s->id, id, strnlen(id, sizeof(s->id) - 1));
	s->main.fd = -1;
	s->start_at = DEADLINE_NEVER;
	s->last.exit_code = -1;
	for (int i = 0; i < 2; i++)
		s->rings[i].capacity_max = AGENT_SERVICE_LOG_MAX;
	list_append(&a->services, &s->item);
	return s;
}

static void drop_rings(struct service *s)
{
	for (int i = 0; i < 2; i++) {
		assert(s->agent->ring_bytes >= s->rings[i].capacity);
		s->agent->ring_bytes -= s->rings[i].capacity;
		ring_done(&s->rings[i]);
	}
}

static void forget_oldest_removed(struct agent *a)
{
	struct service *oldest = NULL;
	unsigned count = 0;

	LIST_EACH (&a->services, struct service, s, item) {
		if (!s->is_removed || s->process)
			continue;
		oldest = oldest ? oldest : s;
		count++;
	}
	if (count <= REMOVED_MAX)
		return;
	list_remove(&oldest->item);
	free(oldest);
}

/* Only the name and the generation stay. */
static void mark_removed(struct service *s)
{
	drop_rings(s);
	spec_done(&s->now);
	s->is_removed = true;
	s->phase = AGENT_SERVICE_STOPPED;
	/* Forgets the oldest removal, never this one. */
	list_remove(&s->item);
	list_append(&s->agent->services, &s->item);
	forget_oldest_removed(s->agent);
}

static bool is_going(const struct service *s)
{
	return s->is_removed || (s->has_next && s->next.says.wish == AGENT_SERVICE_REMOVE);
}

static void begin_soon(struct service *s, int64_t delay_ms)
{
	s->phase = delay_ms > 0 ? AGENT_SERVICE_BACKOFF : AGENT_SERVICE_STARTING;
	s->start_at = deadline_after(delay_ms);
}

/* A removed service of the same name that has not ended yet. */
static bool has_forerunner(const struct service *s)
{
	LIST_EACH (&s->agent->services, const struct service, other, item)
		if (other != s && other->process && is_going(other) &&
		    strcmp(other->now.says.name, s->now.says.name) == 0)
			return true;
	return false;
}

static void swap_rings(struct service *s, struct process *p)
{
	for (int i = 0; i < 2; i++) {
		struct ring of_process = p->out[i].ring;

		p->out[i].ring = s->rings[i];
		s->rings[i] = of_process;
		s->rings[i].capacity_max = AGENT_SERVICE_LOG_MAX;
		p->info.output_end[i] = p->out[i].ring.end;
	}
}

static void note_failure(struct service *s, const struct error *err);

static void begin_service(struct service *s)
{
	const struct agent_service *says = &s->now.says;
	AUTO(arena_done) struct arena arena = {0};
	const struct agent_exec exec = {
	        .args = says->args,
	        .env = says->env,
	        .cwd = says->cwd,
	        .user = says->user,
	        .label = arena_format(&s->now.arena, "service:%s", says->name),
	        .flags = says->keeps_awake ? 0 : AGENT_EXEC_RESIDENT,
	        .ring_bytes = AGENT_SERVICE_LOG_MAX,
	};
	struct error err = {0};

	s->start_at = DEADLINE_NEVER;
	s->phase = AGENT_SERVICE_STARTING;
	s->begun_ms = clock_monotonic_ms();
	s->last.started_unix_ms = (uint64_t)clock_unix_ms();
	if (process_start(s->agent, &exec, &arena, &s->process, &err) < 0) {
		note_failure(s, &err);
		return;
	}
	fault_point("agent", "service-begun");
	s->process->service = s;
	swap_rings(s, s->process);
}

/* Applies the newest description from now on. */
static void adopt_next_spec(struct service *s)
{
	spec_done(&s->now);
	s->now = s->next;
	s->next = (struct service_spec){.says = {.id = NULL}};
	s->has_next = false;
	s->restarts = 0;
	s->failures = 0;
	s->error[0] = 0;
	s->start_at = DEADLINE_NEVER;
	if (s->now.says.wish == AGENT_SERVICE_REMOVE)
		mark_removed(s);
	else if (s->now.says.wish == AGENT_SERVICE_STOP)
		s->phase = AGENT_SERVICE_STOPPED;
	else
		begin_soon(s, 0);
}

static bool is_wanted_again(const struct service *s, bool has_failed)
{
	uint32_t restart = s->now.says.restart;

	return restart == AGENT_SERVICE_ALWAYS ||
	       (restart == AGENT_SERVICE_ON_FAILURE && has_failed);
}

static int64_t delay_of(const struct service *s)
{
	unsigned doublings =
	        s->failures <= RESTARTS_SHIFT_MAX ? s->failures - 1 : RESTARTS_SHIFT_MAX;
	uint64_t delay_ms = s->now.says.delay_ms << doublings;

	return (int64_t)(delay_ms < DELAY_MAX_MS ? delay_ms : DELAY_MAX_MS);
}

/* It has ended by itself. */
static void decide_restart(struct service *s, bool has_failed)
{
	uint32_t failures_max = s->now.says.failures_max;

	if (clock_monotonic_ms() - s->begun_ms >= HEALTHY_MS)
		s->failures = 0;
	if (s->agent->stopping) {
		s->phase = AGENT_SERVICE_STOPPED;
	} else if (!is_wanted_again(s, has_failed)) {
		s->phase = has_failed ? AGENT_SERVICE_FAILED : AGENT_SERVICE_EXITED;
	} else if (++s->failures > failures_max && failures_max > 0) {
		s->phase = AGENT_SERVICE_FAILED;
	} else {
		s->restarts++;
		begin_soon(s, delay_of(s));
	}
}

static void handle_end(struct service *s, bool has_failed)
{
	struct error ignored;

	s->last.ended_unix_ms = (uint64_t)clock_unix_ms();
	/* The command has not ended: root inside killed its reaper. */
	if (s->main.fd >= 0)
		(void)!pidfd_signal(s->main.fd, SIGKILL, &ignored);
	watch_close(s->agent, &s->main);
	s->process = NULL;
	fault_point("agent", "service-ended");
	if (s->has_next)
		adopt_next_spec(s);
	else
		decide_restart(s, has_failed);
}

static void note_failure(struct service *s, const struct error *err)
{
	memcpy(s->error, err->text, sizeof(s->error));
	s->last.exit_code = -1;
	s->last.signal = 0;
	handle_end(s, true);
}

void service_on_start_failed(struct process *p, const struct error *err)
{
	struct service *s = TAKE(p->service);

	swap_rings(s, p);
	note_failure(s, err);
}

void service_on_process_end(struct process *p)
{
	struct service *s = TAKE(p->service);

	s->error[0] = 0;
	s->last.exit_code = p->info.exit_code;
	s->last.signal = p->info.signal;
	swap_rings(s, p);
	/* Viewers have received all output that they could take; report the end to them. */
	LIST_EACH (&p->viewers, struct connection, c, viewer)
		connection_flush(c);
	process_forget(p);
	handle_end(s, s->last.exit_code != 0);
}

/* Processes that the service left end, too: the reaper waits for them. */
static void on_main_end(struct agent *a, struct watch *w, UNUSED uint32_t events)
{
	struct service *s = CONTAINER_OF(w, struct service, main);
	struct process *p = s->process;

	watch_close(a, w);
	if (!p || !p->reaper || s->phase == AGENT_SERVICE_STOPPING)
		return;
	s->phase = AGENT_SERVICE_STOPPING;
	(void)tree_signal(reaper_pid(p->reaper), SIGTERM);
	p->kill_at = deadline_after((int64_t)s->now.says.stop_ms);
}

/* A process that reuses the number has another parent. */
static bool open_main(struct service *s, const struct process *p)
{
	struct tree_process command;
	struct error ignored;

	if (pidfd_open_of((pid_t)p->info.pid, &s->main.fd, &ignored) < 0)
		return false;
	if (tree_look((pid_t)p->info.pid, &command) && command.parent == reaper_pid(p->reaper))
		return true;
	(void)close(s->main.fd);
	s->main.fd = -1;
	return false;
}

void service_on_started(struct process *p)
{
	struct service *s = p->service;

	if (s->phase == AGENT_SERVICE_STARTING)
		s->phase = AGENT_SERVICE_RUNNING;
	s->error[0] = 0;
	/* The process has ended, or the kernel has no pidfds; then its reaper ends with it. */
	if (!open_main(s, p))
		return;
	reaper_hold(p->reaper);
	s->main.on_event = on_main_end;
	watch_set(s->agent, &s->main, EPOLLIN);
}

static void end_process(struct service *s)
{
	struct process *p = s->process;

	if (s->phase == AGENT_SERVICE_STOPPING && p->kill_at != DEADLINE_NEVER)
		return;
	s->phase = AGENT_SERVICE_STOPPING;
	process_look_for_start(p);
	if (!p->reaper)
		return; /* it is ending */
	if (p->started)
		(void)tree_signal(reaper_pid(p->reaper), SIGTERM);
	p->kill_at = deadline_after(p->started ? (int64_t)s->now.says.stop_ms : 0);
}

static int check_message(const struct agent *a, const struct agent_service *m, struct error *err)
{
	unsigned count = 0;

	if (!m->id[0] || strlen(m->id) >= sizeof(((struct service *)0)->id))
		return FAIL(err, ERROR_INVALID, "a service without an id");
	if (m->wish > AGENT_SERVICE_REMOVE || m->restart >= AGENT_SERVICE_RESTART_COUNT)
		return FAIL(err, ERROR_INVALID, "a service of no known kind");
	if (m->delay_ms > DELAY_MAX_MS || m->stop_ms > INT32_MAX)
		return FAIL(err, ERROR_INVALID, "a service that waits for too long");
	LIST_EACH (&a->services, const struct service, s, item)
		count += !is_going(s) && strcmp(s->id, m->id) != 0;
	if (m->wish != AGENT_SERVICE_REMOVE && count >= AGENT_SERVICES_MAX)
		return FAIL(err, ERROR_LIMIT, "the sandbox has %u services already", count);
	return 0;
}

int service_set(struct agent *a, const struct agent_service *message, struct arena *arena,
                struct service **ret, struct error *err)
{
	struct service *s = service_find(a, message->id);

	*ret = s;
	if (s && (s->is_removed || message->generation <= s->generation))
		return 0;
	if (check_message(a, message, err) < 0)
		return -1;
	if (!s)
		s = *ret = service_new(a, message->id);
	s->generation = message->generation;
	spec_done(&s->next);
	s->next = (struct service_spec){*arena, *message};
	*arena = (struct arena){0};
	s->has_next = true;
	if (s->process)
		end_process(s);
	else
		adopt_next_spec(s);
	return 0;
}

int64_t services_next_deadline(const struct agent *a)
{
	int64_t first = DEADLINE_NEVER;

	LIST_EACH (&a->services, const struct service, s, item)
		first = s->start_at < first ? s->start_at : first;
	return first;
}

void services_run_timers(struct agent *a, int64_t now)
{
	LIST_EACH (&a->services, struct service, s, item) {
		if (s->start_at > now || s->process)
			continue;
		if (has_forerunner(s))
			s->start_at = deadline_after(FORERUNNER_MS);
		else
			begin_service(s);
	}
}
