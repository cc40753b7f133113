/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_volume.h — requests about volumes: part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

enum broker_volume_verb {
	BROKER_VOLUME_MAKE,   /* succeeds when it exists */
	BROKER_VOLUME_REMOVE, /* succeeds when it does not exist; its files are deleted later */
	BROKER_VOLUME_LOOK,   /* measures it */
	BROKER_VOLUME_GROW,   /* to size_bytes; succeeds when it is larger */
	BROKER_VOLUME_ATTACH, /* to a running sandbox, as `mount` says; succeeds when attached */
	BROKER_VOLUME_DETACH, /* succeeds when not attached */
	BROKER_VOLUME_VERB_COUNT,
};
struct broker_volume {
	uint64_t request;
	uint32_t verb;
	const char *volume;
	uint64_t size_bytes; /* MAKE; 0 = no limit. GROW */
	/* ATTACH and DETACH; `mount` is one of broker_create's `volumes`. */
	const char *sandbox, *mount;
	uint32_t forced; /* DETACH although a process uses it */
};
struct broker_volume_state {
	uint64_t request;
	uint32_t size_is_advisory;
	uint64_t used_bytes; /* LOOK: UINT64_MAX = too many files to count */
};

extern const struct wire_member broker_volume_shape[], broker_volume_state_shape[];
