/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_volume.h — what atolld asks the broker about volumes: a part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

enum broker_volume_verb {
	BROKER_VOLUME_MAKE,   /* fine when it is there */
	BROKER_VOLUME_REMOVE, /* fine when it is not; its files go when there is time */
	BROKER_VOLUME_LOOK,
	BROKER_VOLUME_GROW,   /* to size_bytes; fine when it has so much */
	BROKER_VOLUME_ATTACH, /* to a sandbox that runs, as `mount` says; fine when it is there */
	BROKER_VOLUME_DETACH, /* fine when it is not there */
	BROKER_VOLUME_VERB_COUNT,
};
struct broker_volume {
	uint64_t request;
	uint32_t verb;
	const char *volume;
	uint64_t size_bytes; /* MAKE; 0 = no limit. GROW */
	/* ATTACH and DETACH; the mount as in broker_create's `volumes` */
	const char *sandbox, *mount;
	uint32_t forced; /* DETACH, although something inside uses it */
};
struct broker_volume_state {
	uint64_t request;
	uint32_t size_is_advisory;
	uint64_t used_bytes; /* LOOK; UINT64_MAX = too many files to count */
};

extern const struct wire_member broker_volume_shape[], broker_volume_state_shape[];
