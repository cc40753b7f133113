/* SPDX-License-Identifier: Apache-2.0 */
/* agent/state.h — the one agent of this process, and what its loop watches. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/stops.h"
#include "base/bytes.h"
#include "base/id.h"
#include "base/list.h"
#include "isolation/apply.h"
#include "isolation/views.h"

struct agent;

/* A descriptor in the epoll set; -1 once it is closed. Embedded in its owner. */
struct watch {
	int fd;
	bool added;      /* to the set */
	uint32_t events; /* wanted; EPOLLHUP and EPOLLERR always come */
	void (*on_event)(struct agent *a, struct watch *w, uint32_t events);
};

/* See listener.h. */
struct listener {
	struct watch watch;
	int (*accept)(int listener); /* accept4, or a test's function */
	int spare;
	int64_t resume_at; /* paused until then */
};

/* The standby process, see standby.h. */
struct standby {
	struct watch watch; /* the agent's end; -1: none */
	int far_fd;         /* the other end, while the process shares the agent's descriptors */
	pid_t pid;          /* 0: none */
	int64_t again_at;   /* when to start it again */
	int64_t look_at;    /* when to retry connections that wait for a process */
	struct stops stops;
};

/* See reverse.h. */
struct reverse {
	const char *path;     /* of the server's socket; NULL: this agent listens */
	char token[65];       /* AGENT_TOKEN_MAX */
	struct watch control; /* the control connection */
	struct buf in;
	int64_t again_at; /* when to connect again */
	int64_t pause_ms; /* after a failure */
	int64_t retry_at; /* when to open `wanted` */
	uint64_t wanted[128];
	unsigned wanted_count;
};

/* See tunnel.h. */
struct tunnels {
	char token[65]; /* AGENT_TOKEN_MAX */
	/* struct tunnel: those that have not shown the token yet, oldest first; the others; those
	 * that are freed after this round of events */
	struct list waiting, open, ended;
};

struct agent {
	int epoll;
	struct listener listener;
	struct reverse reverse; /* in place of the listener */
	struct tunnels tunnels;
	struct watch signals;
	struct watch claim; /* of a prepared sandbox; the listener is watched after the claim */

	/* Paths are resolved from `root` by the rules `resolve` (RESOLVE_*): "/", or the folder
	 * of a sandbox that has no namespaces, whose path `home` is then. */
	int root;
	uint64_t resolve;
	const char *home;                     /* NULL in a sandbox with namespaces */
	int memory_events_fd, pids_events_fd; /* see cause.h; -1 = none */

	struct list connections, closed; /* struct connection */
	unsigned connection_count, worker_count;
	struct standby standby;
	int64_t stops_at;      /* see stops.h */
	bool has_more_ended;   /* children than one round reaps */
	bool has_waiting;      /* among the connections */
	struct list processes; /* struct process, oldest first */
	struct list forgotten; /* struct process, freed when no event can name them any more */
	struct warm *warm;     /* list of interpreters; NULL = none */
	struct list posts;     /* struct post of job.c */
	struct list services;  /* struct service */
	struct list carries, ended_carries; /* struct carry */
	unsigned post_count;
	unsigned running_count, ended_count;
	uint64_t process_count; /* ever */
	size_t ring_bytes;      /* in all rings */

	struct views views;
	bool is_machine;  /* see machine.h */
	bool has_tunnels; /* it listens for tunnels; see tunnel.h */
	int64_t started_ms;
	struct id boot_id;
	int64_t orphan_tick_ms, orphan_tick_at; /* see orphan.h; 0 = not counted */
	unsigned orphan_ticks_left;
	bool stopping;
	int64_t stop_deadline;
	bool stopped;
};

/* loop.c */
void watch_set(struct agent *a, struct watch *w,
               uint32_t events); /* adds it to the set if needed */
/* Removes it from the set: no events come, not even a hangup, until watch_set. */
void watch_pause(struct agent *a, struct watch *w);
void watch_close(struct agent *a, struct watch *w);
void agent_run(struct agent *a);
void agent_on_signal(struct agent *a, struct watch *w, uint32_t events);
/* For `struct spawn`: as many processors as the sandbox has. */
unsigned agent_cpus(const struct agent *a);
/* SIGTERM to all, SIGKILL after the grace, then `stopped`. */
void agent_stop_all(struct agent *a, int64_t grace_ms);
