/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_trash.h — what is removed, and can be brought back for a while: a part of
 * wire/broker.h. */
#pragma once

#include "wire/wire.h"

enum broker_trash_verb {
	BROKER_TRASH_PUT,   /* ends a sandbox at once; of a snapshot, nothing lies on it anew */
	BROKER_TRASH_LIST,  /* id "": BROKER_TRASH_ENTRY*; entries that are due go first */
	BROKER_TRASH_BACK,  /* ERROR_CONFLICT when its place is taken again */
	BROKER_TRASH_PURGE, /* for good, now. Fine when it is not there */
	BROKER_TRASH_VERB_COUNT,
};
enum broker_trash_kind {
	BROKER_TRASH_SANDBOX,
	BROKER_TRASH_SNAPSHOT, /* one that a list of snapshots has; PUT and BACK change that */
	BROKER_TRASH_LAYER,    /* a folder of snapshots that no chain names; put by the broker */
	BROKER_TRASH_KIND_COUNT,
};
enum broker_trash_reason { BROKER_TRASH_ORPHAN, BROKER_TRASH_DELETED, BROKER_TRASH_REASON_COUNT };
#define BROKER_TRASH_KEEP_MAX_S (10 * 366 * UINT64_C(86400))

struct broker_trash {
	uint64_t request;
	uint32_t verb, kind;
	const char *id; /* "" for LIST */
	uint32_t reason;
	uint64_t keep_s;    /* PUT: how long it can be brought back */
	uint64_t bytes_max; /* LIST: the oldest go while there is more; 0 = no limit */
	uint64_t back_s;    /* LIST: by a clock that is so far behind the wall clock */
};
struct broker_trash_entry {
	uint64_t request;
	uint32_t kind, reason;
	const char *id;
	uint64_t until_s; /* unix time */
	uint64_t bytes;   /* UINT64_MAX = not measured yet */
};

extern const struct wire_member broker_trash_shape[], broker_trash_entry_shape[];
