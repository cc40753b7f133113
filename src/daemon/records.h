/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/records.h — what the api process records: activity and network decisions in its store, and
 * OpenTelemetry, which telemetry.h opens and closes. */
#pragma once

#include "base/error.h"
#include "daemon/telemetry.h"

struct activity_log;
struct config;
struct daemon_options;
struct decision_log;
struct store;

struct records {
	struct activity_log *activity;
	struct decision_log *decisions;
	struct telemetry telemetry;
};
struct records_options {
	const struct config *config;
	const struct daemon_options *options;
	struct store *store;
};
/* After a failure, too, records_close ends what is open. */
MUST_CHECK int records_open(const struct records_options *options, struct records *ret,
                            struct error *err);
void records_close(struct records *records);
