/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/stops.h"

#include <signal.h>

#include "agent/connection.h"
#include "agent/process.h"
#include "agent/standby.h"
#include "base/clock.h"

static void note_stop(struct agent *a, struct stops *stops)
{
	int64_t now = clock_monotonic_ms();

	if (stops->first_at == 0 || now - stops->last_at >= STOPS_MAX_MS)
		stops->first_at = now;
	stops->last_at = now;
	stops->stopped = true;
	a->stops_at = now;
}

static struct stops *find_reaper(struct agent *a, pid_t pid)
{
	LIST_EACH (&a->processes, struct process, p, item)
		if (p->reaper && reaper_pid(p->reaper) == pid)
			return reaper_is_adopted(p->reaper) ? NULL : &p->stops;
	return NULL;
}

static struct stops *find_worker(struct agent *a, pid_t pid)
{
	LIST_EACH (&a->connections, struct connection, c, item)
		if (c->worker == pid)
			return &c->stops;
	return NULL;
}

void stops_on_child(struct agent *a, pid_t pid)
{
	struct stops *stops = a->standby.pid == pid ? &a->standby.stops : NULL;

	stops = stops ? stops : find_worker(a, pid);
	stops = stops ? stops : find_reaper(a, pid);
	if (stops)
		note_stop(a, stops);
}

static bool is_stopped_too_long(const struct stops *stops, int64_t now)
{
	return now - stops->first_at >= STOPS_MAX_MS;
}

/* A second SIGCONT in one millisecond waits for the next one. */
static void continue_helper(struct agent *a, pid_t pid, struct stops *stops, int64_t now)
{
	if (stops->continued_at >= now) {
		a->stops_at = now + 1;
		return;
	}
	stops->stopped = false;
	stops->continued_at = now;
	(void)kill(pid, SIGCONT);
}

static void handle_worker(struct agent *a, pid_t pid, struct stops *stops, int64_t now)
{
	if (pid <= 0 || !stops->stopped)
		return;
	if (is_stopped_too_long(stops, now)) {
		stops->stopped = false;
		(void)kill(pid, SIGKILL);
	} else {
		continue_helper(a, pid, stops, now);
	}
}

static void handle_reaper(struct agent *a, struct process *p, int64_t now)
{
	if (!p->reaper || !p->stops.stopped)
		return;
	process_look_for_start(p);
	if (!p->started && !p->warm && is_stopped_too_long(&p->stops, now)) {
		p->stops.stopped = false;
		reaper_give_up(p->reaper);
	} else {
		continue_helper(a, reaper_pid(p->reaper), &p->stops, now);
	}
}

void stops_run_timer(struct agent *a, int64_t now)
{
	if (a->stops_at > now)
		return;
	a->stops_at = DEADLINE_NEVER;
	handle_worker(a, a->standby.pid, &a->standby.stops, now);
	LIST_EACH (&a->connections, struct connection, c, item)
		handle_worker(a, c->worker, &c->stops, now);
	LIST_EACH (&a->processes, struct process, p, item)
		handle_reaper(a, p, now);
}
