/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/viewers.h — who looks at a process through this server, who may type, and who does.
 *
 * A viewer is embedded in what serves its connection, which adds and removes it on one thread (the
 * loop's); lists are for any thread. Only this server's connections are known, which is all of
 * them: a sandbox is one server's. */
#pragma once

#include "base/id.h"
#include "base/list.h"
#include "terminal/terminal.h"

#define TERMINAL_WHO_MAX 64

struct terminal_viewer {
	struct list item;
	uint64_t id; /* of this server, never used again */
	char sandbox[ID_SIZE + 1];
	uint64_t process;
	char who[TERMINAL_WHO_MAX + 1], peer[64];
	bool may_write; /* if it takes over */
	bool writes;
	int64_t attached_at, typed_at; /* unix ms; 0 = never */
};

/* The connections' thread. Gives it an id. */
void terminal_viewer_add(struct terminals *t, struct terminal_viewer *v);
void terminal_viewer_remove(struct terminals *t, struct terminal_viewer *v); /* zeroed is fine */
/* From now on it writes, and no other viewer of the process; how many did so far. */
unsigned terminal_viewer_take_over(struct terminals *t, struct terminal_viewer *v);
/* It types. True when the others have not been told of that for a while. */
bool terminal_viewer_types(struct terminals *t, struct terminal_viewer *v);
/* Calls with each viewer of the process; what is called may remove it. */
void terminal_viewers_each(struct terminals *t, const char *sandbox, uint64_t process,
                           void (*call)(struct terminal_viewer *v, void *context), void *context);

/* Any thread. Copies, in the arena. */
struct terminal_viewers {
	struct terminal_viewer *items;
	size_t count;
};
struct terminal_viewers terminal_viewers_list(struct terminals *t, struct arena *a,
                                              const char *sandbox, uint64_t process);
