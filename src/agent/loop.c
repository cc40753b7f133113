/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/carry.h"
#include "agent/connection.h"
#include "agent/job.h"
#include "agent/listener.h"
#include "agent/orphan.h"
#include "agent/reverse.h"
#include "agent/tunnel.h"
#include "agent/standby.h"
#include "agent/score.h"
#include "agent/service.h"
#include "agent/state.h"
#include "agent/tree.h"
#include "agent/warm.h"
#include "agent/worker.h"
#include "base/clock.h"

#define EVENTS_AT_ONCE 16
#define SIGNALS_AT_ONCE 3 /* handled signals; each is pending at most once */
#define SIGTERM_GRACE_MS 2000
#define KILL_AGAIN_MS 20
#define REAPED_AT_ONCE 256 /* a limit, so that many ending children do not delay other events */

void watch_set(struct agent *a, struct watch *w, uint32_t events)
{
	struct epoll_event event = {.events = events, .data = {.ptr = w}};

	assert(w->fd >= 0);
	/* Fails only without memory. */
	if (epoll_ctl(a->epoll, w->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, w->fd, &event) < 0)
		abort();
	w->added = true;
	w->events = events;
}

void watch_pause(struct agent *a, struct watch *w)
{
	if (w->added)
		(void)epoll_ctl(a->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	w->added = false;
	w->events = 0;
}

void watch_close(struct agent *a, struct watch *w)
{
	if (w->fd < 0)
		return;
	/* A descriptor that a child shares would stay in the set after close. */
	watch_pause(a, w);
	(void)close(w->fd);
	w->fd = -1;
}

static void on_child(struct agent *a, pid_t pid, int status)
{
	if (WIFSTOPPED(status))
		stops_on_child(a, pid);
	else if (!process_on_reaper_exit(a, pid, status) && !warm_on_exit(a, pid) &&
	         !standby_on_exit(a, pid))
		(void)worker_on_exit(a, pid, status);
}

static void reap_children(struct agent *a)
{
	unsigned count = 0;
	pid_t pid = 0;
	int status;

	while (count < REAPED_AT_ONCE && (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		on_child(a, pid, status);
		count++;
	}
	a->has_more_ended = count == REAPED_AT_ONCE;
	if (pid < 0 && errno == ECHILD && a->stopping)
		a->stopped = true;
}

void agent_stop_all(struct agent *a, int64_t grace_ms)
{
	if (a->stopping)
		return;
	a->stopping = true;
	a->stop_deadline = deadline_after(grace_ms);
	standby_stop(a);
	(void)tree_signal(getpid(), SIGTERM);
	reap_children(a);
}

/* A sender outside the pid namespace has number 0. Code in the sandbox must not be able to end the
 * agent. */
static bool is_from_inside(const struct signalfd_siginfo *info)
{
	return getpid() == 1 && info->ssi_pid != 0;
}

/* VIEWS_SIGNAL is sent before the reply to the change of limits, so a caller with that reply comes
 * after this. */
static void on_one_signal(struct agent *a, const struct signalfd_siginfo *info)
{
	if (is_from_inside(info))
		return;
	if (info->ssi_signo == SIGTERM)
		agent_stop_all(a, SIGTERM_GRACE_MS);
	if (info->ssi_signo == VIEWS_SIGNAL)
		views_refresh(&a->views, clock_monotonic_ms());
}

void agent_on_signal(struct agent *a, struct watch *w, UNUSED uint32_t events)
{
	struct signalfd_siginfo infos[SIGNALS_AT_ONCE];
	ssize_t got = read(w->fd, infos, sizeof(infos));

	for (ssize_t i = 0; i < got / (ssize_t)sizeof(infos[0]); i++)
		on_one_signal(a, &infos[i]);
	reap_children(a);
}

static void run_stop(struct agent *a, int64_t now)
{
	if (!a->stopping || now < a->stop_deadline)
		return;
	if (tree_kill(getpid()) == 0)
		a->stopped = true;
	a->stop_deadline = now + KILL_AGAIN_MS;
}

unsigned agent_cpus(const struct agent *a)
{
	return a->views.cpus < a->views.host_cpus ? a->views.cpus : 0;
}

/* Runs after all events: a program that starts now reads figures that are at most a second old. */
static void run_views(struct agent *a, bool is_used, int64_t now)
{
	if (now < views_next(&a->views) &&
	    (!is_used || now - a->views.refreshed_ms < VIEWS_BUSY_MS))
		return;
	views_refresh(&a->views, now);
	score_keep();
}

static int wait_ms(struct agent *a)
{
	int64_t next = process_next_deadline(a), warm = warm_next_deadline(a),
	        posts = posts_next_deadline(a), services = services_next_deadline(a);

	next = warm < next ? warm : next;
	next = posts < next ? posts : next;
	next = services < next ? services : next;
	next = views_next(&a->views) < next ? views_next(&a->views) : next;
	next = orphan_next_deadline(a) < next ? orphan_next_deadline(a) : next;
	next = listener_next_deadline(&a->listener) < next ? listener_next_deadline(&a->listener)
	                                                   : next;
	next = reverse_next_deadline(a) < next ? reverse_next_deadline(a) : next;
	next = standby_next_deadline(a) < next ? standby_next_deadline(a) : next;
	next = a->stops_at < next ? a->stops_at : next;
	if (a->stopping && a->stop_deadline < next)
		next = a->stop_deadline;
	return a->has_more_ended ? 0 : deadline_poll_ms(next);
}

void agent_run(struct agent *a)
{
	struct epoll_event events[EVENTS_AT_ONCE];

	while (!a->stopped) {
		int count = epoll_wait(a->epoll, events, EVENTS_AT_ONCE, wait_ms(a));

		for (int i = 0; i < count; i++) {
			struct watch *w = events[i].data.ptr;

			/* Closed by an event before it in the same batch. */
			if (w->fd >= 0)
				w->on_event(a, w, events[i].events);
		}
		if (a->has_more_ended)
			reap_children(a);
		stops_run_timer(a, clock_monotonic_ms());
		process_run_timers(a, clock_monotonic_ms());
		warm_run_timers(a, clock_monotonic_ms());
		posts_run_timers(a, clock_monotonic_ms());
		services_run_timers(a, clock_monotonic_ms());
		orphan_run_timer(a, clock_monotonic_ms());
		standby_run_timer(a, clock_monotonic_ms());
		listener_run_timer(a, &a->listener, clock_monotonic_ms());
		reverse_run_timer(a, clock_monotonic_ms());
		run_stop(a, clock_monotonic_ms());
		run_views(a, count > 0, clock_monotonic_ms());
		connections_handle_waiting(a);
		connection_free_closed(a);
		carries_free_ended(a);
		tunnels_free_ended(a);
		process_free_forgotten(a);
	}
}
