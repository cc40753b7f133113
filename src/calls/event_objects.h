/* SPDX-License-Identifier: Apache-2.0 */
/* calls/event_objects.h — the sandboxes that events are about, beside the events. On a worker. */
#pragma once

#include "base/bytes.h"

struct api;
struct event_list;
struct sandbox_record;

/* Appends the sandbox as JSON, without secrets. */
typedef int event_object_writer(const struct api *api, struct arena *a,
                                const struct sandbox_record *r, struct buf *out, struct error *err);

/* One text per event, in the arena: the sandbox of a "sandbox.*" event as it is now, null when its
 * row is gone, and nothing for other events. Each sandbox is read once; its row is at least as new
 * as the newest of the events. */
MUST_CHECK int event_objects_read(const struct api *api, struct arena *a,
                                  const struct event_list *events, event_object_writer *write,
                                  struct span **ret, struct error *err);
