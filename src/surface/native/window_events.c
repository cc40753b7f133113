/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/window_events.h"

#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "edge/api.h"
#include "store/events.h"
#include "store/sandbox_record.h"
#include "store/snapshots.h"

/* Changes of one sandbox that are told within a minute: a caller may open and close windows in a
 * loop. The counts are dropped each minute. */
#define CHANGES_PER_MINUTE 60
#define MINUTE_MS 60000

struct change_counts {
	pthread_mutex_t mutex;
	struct map counts; /* sandbox -> the number, as a pointer */
	int64_t minute;
};
static struct change_counts change_counts = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool may_tell(const char *sandbox)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&change_counts.mutex);
	int64_t minute = clock_monotonic_ms() / MINUTE_MS;
	uintptr_t count;

	if (minute != change_counts.minute) {
		map_done(&change_counts.counts);
		change_counts.counts = (struct map){0};
		change_counts.minute = minute;
	}
	count = (uintptr_t)map_find(&change_counts.counts, sandbox) + 1;
	map_put(&change_counts.counts, sandbox, (void *)count);
	return count <= CHANGES_PER_MINUTE;
}

void window_event_add(void *context, enum event_kind kind, const char *sandbox, const char *name)
{
	struct api *api = context;
	AUTO(arena_done) struct arena arena = {0};
	struct event_record event = {
	        .at = clock_unix_ms(),
	        .sandbox_id = sandbox,
	        .kind = event_kind_name(kind),
	        .text = name,
	};
	struct sandbox_record r;
	struct error err = {0};

	if (!may_tell(sandbox))
		return;
	if (store_sandbox_find_ended(api->store, &arena, NULL, sandbox, &r, &err) == 0) {
		event.project_id = r.project_id;
		if (store_event_add(api->store, &event, &err) == 0)
			return;
	}
	log_warning("an event is lost", TEXT("sandbox", sandbox), FAILURE(&err));
}
