/* SPDX-License-Identifier: Apache-2.0 */
/* surface/preview/surface.h — the state of the preview surface. Process lifetime. */
#pragma once

#include <stdatomic.h>

#include "surface/preview/live.h"
#include "surface/preview/serve.h"

struct preview_opened;
struct proxy_pool;

struct preview_surface {
	struct proxy_pool *pool;          /* connections into sandboxes; loop thread */
	struct preview_live *live;        /* open streams; loop thread */
	struct preview_opened *opened;    /* clients of links, for the audit */
	atomic_uint dials;                /* connections that are being opened */
	preview_port_refuse *refuse_port; /* NULL: none is set */
};

/* opened.c: any thread. */
struct preview_opened *preview_opened_new(void);
void preview_opened_free(struct preview_opened *o); /* NULL is fine */
/* Adds a row to the audit when the view is by a link, and its client is new. */
void preview_tell_opened(struct request *rq, const struct preview_view *view,
                         const struct sandbox_record *r);
