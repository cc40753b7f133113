/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/viewers.h — the viewers of a process: connections that show it, and which of them may
 * type.
 *
 * A viewer is embedded in the struct of its connection, which adds and removes it on the loop
 * thread; any thread may list viewers. The list is complete, because a sandbox belongs to one
 * server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "base/list.h"

struct arena;
struct terminals;

#define TERMINAL_WHO_MAX 64

struct terminal_viewer {
	struct list item;
	uint64_t id; /* unique in this process */
	char sandbox[ID_SIZE + 1];
	uint64_t process;
	char who[TERMINAL_WHO_MAX + 1], peer[64];
	bool may_write; /* may take over */
	bool writes;
	int64_t attached_at, typed_at; /* unix ms; 0 = never */
};

/* Loop thread. Sets the id. */
void terminal_viewer_add(struct terminals *t, struct terminal_viewer *v);
void terminal_viewer_remove(struct terminals *t, struct terminal_viewer *v); /* zeroed is fine */
/* Makes it the only viewer of the process that writes. Returns how many wrote before. */
unsigned terminal_viewer_take_over(struct terminals *t, struct terminal_viewer *v);
/* Records that it types. True when the other viewers should be told. */
bool terminal_viewer_types(struct terminals *t, struct terminal_viewer *v);
/* Calls `call` for each viewer of the process; `call` may remove the viewer. */
void terminal_viewers_each(struct terminals *t, const char *sandbox, uint64_t process,
                           void (*call)(struct terminal_viewer *v, void *context), void *context);

/* Any thread. Copies, in the arena. */
struct terminal_viewers {
	struct terminal_viewer *items;
	size_t count;
};
struct terminal_viewers terminal_viewers_list(struct terminals *t, struct arena *a,
                                              const char *sandbox, uint64_t process);
