/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/telemetry.h — OpenTelemetry in the api process: traces, and all metrics at an interval. On
 * the loop thread. */
#pragma once

#include "loop/loop.h"

struct api;
struct config;
struct otlp_exporter;

struct telemetry {
	struct api *api;
	struct loop_timer timer;
	struct otlp_exporter *exporter; /* NULL: off */
};
/* Does nothing without the option otlp_endpoint. `api` has its loop and configuration. */
MUST_CHECK int telemetry_open(struct telemetry *t, struct api *api, const char *instance_id,
                              struct error *err);
/* Before the loop closes, and after the last request. */
void telemetry_close(struct telemetry *t);
