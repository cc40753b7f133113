/* SPDX-License-Identifier: Apache-2.0 */
/* Which clients have lately opened a preview by a link: the audit has one row for each of them, not
 * one for each request. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "edge/api.h"
#include "edge/audit.h"
#include "edge/cookie.h"
#include "fleet/sandbox/preview.h"
#include "http/server/http.h"
#include "store/sandbox_record.h"
#include "surface/preview/surface.h"

#define ENTRIES_MAX 8192 /* then all are forgotten: the next use of each is told again */
#define KEY_SIZE 128
#define NEW_AGAIN_MS INT64_C(3600000) /* a client that was not seen for so long is new */

struct preview_opened {
	pthread_mutex_t mutex;
	struct map clients; /* "SANDBOX PORT KIND ADDRESS" -> int64_t: the last use */
};

struct preview_opening {
	const char *sandbox, *address;
	uint16_t port;
	bool is_shared;
};

struct preview_opened *preview_opened_new(void)
{
	struct preview_opened *o = memory_new(sizeof(*o));

	pthread_mutex_init(&o->mutex, NULL);
	return o;
}

void preview_opened_free(struct preview_opened *o)
{
	if (!o)
		return;
	map_free_values(&o->clients);
	pthread_mutex_destroy(&o->mutex);
	free(o);
}

/* Whether the client of this link is new and has to be told. `now` is monotonic ms. */
static bool note_opening(struct preview_opened *o, const struct preview_opening *opening,
                         int64_t now)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&o->mutex);
	char key[KEY_SIZE];
	int64_t *last, before;

	(void)snprintf(key, sizeof(key), "%s %u %c %s", opening->sandbox, opening->port,
	               opening->is_shared ? 's' : 'p', opening->address);
	last = map_find(&o->clients, key);
	if (last) {
		before = *last;
		*last = now;
		return now - before >= NEW_AGAIN_MS;
	}
	if (o->clients.count >= ENTRIES_MAX)
		map_free_values(&o->clients);
	last = memory_new(sizeof(*last));
	*last = now;
	(void)map_put(&o->clients, key, last);
	return true;
}

void preview_tell_opened(struct request *rq, const struct preview_view *view,
                         const struct sandbox_record *r)
{
	const struct preview_opening opening = {
	        .sandbox = r->id,
	        .address = api_client_address(rq),
	        .port = view->port,
	        .is_shared = view->grant && view->grant->is_shared,
	};
	const struct api_audit_use use = {
	        .action = "previews.open",
	        .target_kind = "instances",
	        .project_id = r->project_id,
	        .target_id = r->id,
	        .after_json =
	                span_of(arena_format(rq->arena, "{\"port\":%u,\"link\":\"%s\"}", view->port,
	                                     opening.is_shared ? "shared" : "private")),
	};

	if (view->grant &&
	    note_opening(api_of(rq)->preview->opened, &opening, clock_monotonic_ms()))
		api_audit_link(rq, &use);
}
