/* SPDX-License-Identifier: Apache-2.0 */
/* provider/remote/carrier.h — how the bytes of a tunnel go to an agent's port. Private to
 * provider/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

struct http_stream_options;
struct remote;
struct remote_reach;

/* How bytes go to an agent's port; NULL in a kind: as http/client/async.h sends them. The functions
 * run on the thread of the provider's http_async. `open` copies all options but the context. */
struct remote_carrier {
	void *(*open)(struct remote *r, const struct remote_reach *reach,
	              const struct http_stream_options *options);
	void (*free)(void *stream); /* NULL is fine */
	void (*watch)(void *stream, bool reads, bool writes);
	ptrdiff_t (*receive)(void *stream, char *room, size_t size);
	ptrdiff_t (*send)(void *stream, struct span bytes);
};
