/* SPDX-License-Identifier: Apache-2.0 */
/* launch/server.h — serves the requests of one channel (wire/launch.h).
 *
 * A serve function gets a request whose size and number of descriptors are right; all else is for
 * it to check. It may leave descriptors in `ret`, which go with the answer and are closed then. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/fd.h"
#include "wire/launch.h"
#include "wire/wire.h"

/* Mount namespaces that tasks enter (isolation/confine.h). */
enum launch_view {
	LAUNCH_VIEW_DATA,
	LAUNCH_VIEW_PROCESSES,
	LAUNCH_VIEW_HOST, /* and nothing can be written */
	LAUNCH_VIEW_COUNT,
	LAUNCH_VIEW_ALL = LAUNCH_VIEW_COUNT, /* what the broker sees */
};

struct launch_server {
	char data_path[4096]; /* resolved */
	int data_fd;
	int agent_fd, task_fd; /* programs, as they were at the start */
	const char *image_path;
	int proc_fd; /* see link.h; -1: none yet */
	int names_fd, mounts_fd,
	        network_fd; /* this program's own UTS, mount and network namespace */
	int views[LAUNCH_VIEW_COUNT];
	int channel_fd;
	int held_fd;    /* LAUNCH_HOLD; -1: none */
	bool is_worker; /* serves another channel than the main one */
};

struct launch_call {
	const void *request;
	const int *fds; /* closed after the answer, unless the function sets them to -1 */
	unsigned fd_count;
};

struct launch_reply {
	struct launch_answer answer;
	struct wire_fds fds;
	int late[LAUNCH_PARTS_MAX]; /* to close after the answer, because that takes the kernel time
	                             */
	unsigned late_count;
};

typedef int serve_request(struct launch_server *l, const struct launch_call *call,
                          struct launch_reply *ret, struct error *err);

/* Serves the channel until its other end closes. */
MUST_CHECK int launch_serve(struct launch_server *l, struct error *err);

/* Adds a descriptor to the answer. */
void launch_reply_add(struct launch_reply *reply, int fd);
/* Whether a text of a request ends within its array. */
MUST_CHECK int launch_check_text(const char *text, size_t size, struct error *err);

/* Waits for a child that ended LAUNCH_ORPHAN_MS ago and that the broker has not asked for, because
 * the process that started it was killed before it told the broker. (channel.c) */
#define LAUNCH_ORPHAN_MS (10 * 1000)
void launch_reap_orphan(int64_t now_ms);
/* Whether a namespace belongs to a user namespace other than this program's, as a sandbox's does:
 * the host's own are not for the broker. (process.c) */
MUST_CHECK int launch_check_inside(int namespace_fd, struct error *err);

/* channel.c */
serve_request serve_channel, serve_hold;
serve_request serve_mount;
serve_request serve_shared;
serve_request serve_image;
serve_request serve_quota, serve_id_map;      /* quota.c */
serve_request serve_read_only, serve_replace; /* switch.c */
serve_request serve_attach, serve_detach;
/* devices.c */
serve_request serve_devices;
/* agent.c */
serve_request serve_agent;
/* process.c */
serve_request serve_hostname, serve_wait, serve_process;
/* task.c */
serve_request serve_task;
