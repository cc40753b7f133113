/* SPDX-License-Identifier: Apache-2.0 */
/* calls/refusals.h — what network rules refuse while a command of a request runs. */
#pragma once

#include "decision/watch.h"

struct api_target;
struct request;

/* Memory of the watch is in `a`, which outlives the request. */
struct decision_watch api_watch_network(const struct request *rq, const struct api_target *t,
                                        struct arena *a);
