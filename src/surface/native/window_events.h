/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/window_events.h — events of windows and recordings, a bounded number of them. */
#pragma once

#include "sandbox/events.h"

/* For terminals_options.on_change; the context is a struct api. Any thread. */
void window_event_add(void *context, enum event_kind kind, const char *sandbox, const char *name);
