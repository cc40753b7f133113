/* SPDX-License-Identifier: Apache-2.0 */
/* broker/layers/shared.h — the mounts that all sandboxes share (enum launch_layer). */
#pragma once

#include "base/error.h"

struct host;

/* Makes them; once, when the broker starts. */
MUST_CHECK int host_layers_make(struct host *host, struct error *err);
