/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_trash.h — removed objects that can be restored for a while: part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

enum broker_trash_verb {
	BROKER_TRASH_PUT,   /* ends a sandbox at once; no new sandbox can use a snapshot */
	BROKER_TRASH_LIST,  /* id "": BROKER_TRASH_ENTRY*; first deletes entries that are due */
	BROKER_TRASH_BACK,  /* restores; ERROR_CONFLICT when the id exists again */
	BROKER_TRASH_PURGE, /* deletes now; succeeds when the entry does not exist */
	BROKER_TRASH_VERB_COUNT,
};
enum broker_trash_kind {
	BROKER_TRASH_SANDBOX,
	BROKER_TRASH_SNAPSHOT, /* in the list of snapshots before PUT and after BACK */
	BROKER_TRASH_LAYER,    /* a layer that no layer stack uses; only the broker adds it */
	BROKER_TRASH_KIND_COUNT,
};
enum broker_trash_reason { BROKER_TRASH_ORPHAN, BROKER_TRASH_DELETED, BROKER_TRASH_REASON_COUNT };
#define BROKER_TRASH_KEEP_MAX_S (10 * 366 * UINT64_C(86400))

struct broker_trash {
	uint64_t request;
	uint32_t verb, kind;
	const char *id; /* "" for LIST */
	uint32_t reason;
	uint64_t keep_s;    /* PUT: how long it can be restored */
	uint64_t bytes_max; /* LIST: deletes the oldest entries beyond; 0 = no limit */
	uint64_t back_s;    /* LIST: uses a clock this far behind the wall clock */
};
struct broker_trash_entry {
	uint64_t request;
	uint32_t kind, reason;
	const char *id;
	uint64_t until_s; /* unix time */
	uint64_t bytes;   /* UINT64_MAX = not measured yet */
};

extern const struct wire_member broker_trash_shape[], broker_trash_entry_shape[];
