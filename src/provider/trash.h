/* SPDX-License-Identifier: Apache-2.0 */
/* provider/trash.h — removed objects that can be restored for a while. The rules of provider.h
 * apply. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/id.h"

struct provider;

enum provider_trash_kind {
	PROVIDER_TRASH_SANDBOX,
	PROVIDER_TRASH_SNAPSHOT,
	PROVIDER_TRASH_LAYER, /* a layer that no stack uses; only the provider adds these */
};
enum provider_trash_reason { PROVIDER_TRASH_ORPHAN, PROVIDER_TRASH_DELETED };

struct provider_trash {
	enum provider_trash_kind kind;
	const char *id;
	enum provider_trash_reason reason; /* put */
	int64_t keep_ms;                   /* put; 0 = delete now */
};
struct provider_trash_entry {
	enum provider_trash_kind kind;
	enum provider_trash_reason reason;
	char id[ID_SIZE + 1];
	int64_t until;      /* unix ms */
	int64_t size_bytes; /* -1 = not measured yet */
};
struct provider_trash_list {
	struct provider_trash_entry *items; /* in the arena */
	size_t count;
};

struct provider_trash_bounds {
	int64_t bytes_max; /* 0 = no limit */
	int64_t back_ms;   /* entries are due by a clock this far behind the wall clock */
};

struct trash_ops {
	/* In place of destroy, and of remove for a snapshot. Ends a running sandbox at once.
	 * Succeeds when the object does not exist. */
	int (*put)(struct provider *p, const struct provider_trash *what, int64_t deadline,
	           struct error *err);
	/* Restores an object; a sandbox is stopped then. ERROR_NOT_FOUND when it is not in the
	 * trash. */
	int (*bring_back)(struct provider *p, const struct provider_trash *what, int64_t deadline,
	                  struct error *err);
	/* Deletes it. Succeeds when it is not in the trash. */
	int (*purge)(struct provider *p, const struct provider_trash *what, int64_t deadline,
	             struct error *err);
	/* First deletes the entries that are due, then the oldest ones while there are more than
	 * bytes_max. */
	int (*list)(struct provider *p, const struct provider_trash_bounds *bounds, struct arena *a,
	            struct provider_trash_list *ret, struct error *err);
};
