/* SPDX-License-Identifier: Apache-2.0 */
/* surface/preview/surface.h — the state of the preview surface. Process lifetime. */
#pragma once

#include <stdatomic.h>

#include "surface/preview/live.h"
#include "surface/preview/serve.h"

struct proxy_pool;

struct preview_surface {
	struct proxy_pool *pool;          /* connections into sandboxes; loop thread */
	struct preview_live *live;        /* open streams; loop thread */
	atomic_uint dials;                /* connections that are being opened */
	preview_port_refuse *refuse_port; /* NULL: none is set */
};
