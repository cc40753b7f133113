/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_measure.h — how much something takes of the disk: a part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

enum broker_measured_kind {
	BROKER_MEASURE_SANDBOX,  /* its own files, without the layers that it lies on */
	BROKER_MEASURE_SNAPSHOT, /* its layer, without those below */
	BROKER_MEASURE_VOLUME,
	BROKER_MEASURE_KIND_COUNT,
};
struct broker_measure {
	uint64_t request;
	uint32_t kind;
	const char *id;
};
struct broker_measured {
	uint64_t request;
	uint64_t bytes;
	uint32_t is_partial; /* there was too much to count: these at least */
};

extern const struct wire_member broker_measure_shape[], broker_measured_shape[];
