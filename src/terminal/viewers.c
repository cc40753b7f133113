/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/viewers.h"

#include <string.h>

#include "base/clock.h"
#include "terminal/terminals.h"

#define TOLD_MS 2000 /* a viewer that types without a pause is announced this often */
#define LISTED_MAX 1000

static bool viewer_is_of(const struct terminal_viewer *v, const char *sandbox, uint64_t process)
{
	return v->process == process && strcmp(v->sandbox, sandbox) == 0;
}

void terminal_viewer_add(struct terminals *t, struct terminal_viewer *v)
{
	v->attached_at = clock_unix_ms();
	(void)pthread_mutex_lock(&t->viewers_lock);
	v->id = ++t->viewer_count;
	list_append(&t->viewers, &v->item);
	(void)pthread_mutex_unlock(&t->viewers_lock);
}

void terminal_viewer_remove(struct terminals *t, struct terminal_viewer *v)
{
	if (!v->id)
		return;
	(void)pthread_mutex_lock(&t->viewers_lock);
	list_remove(&v->item);
	(void)pthread_mutex_unlock(&t->viewers_lock);
	v->id = 0;
}

unsigned terminal_viewer_take_over(struct terminals *t, struct terminal_viewer *v)
{
	unsigned count = 0;

	(void)pthread_mutex_lock(&t->viewers_lock);
	LIST_EACH (&t->viewers, struct terminal_viewer, other, item) {
		if (other == v || !other->writes || !viewer_is_of(other, v->sandbox, v->process))
			continue;
		other->writes = false;
		count++;
	}
	v->writes = true;
	(void)pthread_mutex_unlock(&t->viewers_lock);
	return count;
}

bool terminal_viewer_types(struct terminals *t, struct terminal_viewer *v)
{
	int64_t now = clock_unix_ms(), before;

	(void)pthread_mutex_lock(&t->viewers_lock);
	before = v->typed_at;
	if (now - before >= TOLD_MS || now < before)
		v->typed_at = now;
	(void)pthread_mutex_unlock(&t->viewers_lock);
	return now - before >= TOLD_MS || now < before;
}

/* Only the thread that calls here changes the list, so it needs no lock to read it. */
void terminal_viewers_each(struct terminals *t, const char *sandbox, uint64_t process,
                           void (*call)(struct terminal_viewer *v, void *context), void *context)
{
	LIST_EACH (&t->viewers, struct terminal_viewer, v, item)
		if (viewer_is_of(v, sandbox, process))
			call(v, context);
}

struct terminal_viewers terminal_viewers_list(struct terminals *t, struct arena *a,
                                              const char *sandbox, uint64_t process)
{
	struct terminal_viewers list = {
	        .items = ARENA_ARRAY(a, struct terminal_viewer, LISTED_MAX),
	};

	(void)pthread_mutex_lock(&t->viewers_lock);
	LIST_EACH (&t->viewers, const struct terminal_viewer, v, item)
		if (viewer_is_of(v, sandbox, process) && list.count < LISTED_MAX)
			list.items[list.count++] = *v;
	(void)pthread_mutex_unlock(&t->viewers_lock);
	return list;
}
