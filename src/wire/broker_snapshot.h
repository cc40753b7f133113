/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_snapshot.h — takes, restores and removes snapshots: part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

struct broker_snapshot {
	uint64_t request;
	const char *sandbox;
	const char *snapshot; /* the caller chooses the id of a new snapshot */
	uint32_t sync;        /* 1: reply when the files are on the disk */
	uint32_t dry;         /* BROKER_RESTORE, 1: only check whether it is possible */
};
struct broker_snapshot_made {
	uint64_t request;
	uint64_t frozen_us; /* 0: the sandbox was stopped */
	uint64_t took_us;
	uint32_t depth;      /* layers of the snapshot */
	const char *method;  /* "rename", "switch" or "copy", see docs/use/snapshots.md */
	const char *because; /* of a copy: why a switch was not possible */
};

extern const struct wire_member broker_snapshot_shape[], broker_snapshot_made_shape[];
