/* SPDX-License-Identifier: Apache-2.0 */
/* provider/trash.h — what a provider removes so that it can be brought back for a while. As for
 * provider.h: calls block, by any thread, until their deadline. */
#pragma once

#include "provider/provider.h"

struct provider_trash {
	enum broker_trash_kind kind; /* BROKER_TRASH_LAYER only comes from the provider */
	const char *id;
	enum broker_trash_reason reason; /* put */
	int64_t keep_ms;                 /* put; 0 = it is deleted now */
};
struct provider_trash_entry {
	enum broker_trash_kind kind;
	enum broker_trash_reason reason;
	char id[ID_SIZE + 1];
	int64_t until;      /* unix ms */
	int64_t size_bytes; /* -1 = not measured yet */
};
struct provider_trash_list {
	struct provider_trash_entry *items; /* in the arena */
	size_t count;
};

struct provider_trash_bounds {
	int64_t bytes_max; /* 0 = any */
	int64_t back_ms;   /* what is due, by a clock so far behind the wall clock */
};

struct trash_ops {
	/* In place of destroy, and of a snapshot's remove: a sandbox that runs is ended at once.
	 * Fine when there is none. */
	int (*put)(struct provider *p, const struct provider_trash *what, int64_t deadline,
	           struct error *err);
	/* ERROR_NOT_FOUND when it is not in the trash. A sandbox is stopped then. */
	int (*bring_back)(struct provider *p, const struct provider_trash *what, int64_t deadline,
	                  struct error *err);
	/* Deletes it. Fine when it is not there. */
	int (*purge)(struct provider *p, const struct provider_trash *what, int64_t deadline,
	             struct error *err);
	/* What is due goes first, then the oldest while there are more than bytes_max. */
	int (*list)(struct provider *p, const struct provider_trash_bounds *bounds, struct arena *a,
	            struct provider_trash_list *ret, struct error *err);
};
extern const struct trash_ops broker_provider_trash;
