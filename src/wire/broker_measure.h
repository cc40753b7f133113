/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_measure.h — measures the disk use of one object: part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

enum broker_measured_kind {
	BROKER_MEASURE_SANDBOX,  /* its own files, without the layers below */
	BROKER_MEASURE_SNAPSHOT, /* its layer, without the layers below */
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
	uint32_t is_partial; /* too many files to count: a lower bound */
};

extern const struct wire_member broker_measure_shape[], broker_measured_shape[];
