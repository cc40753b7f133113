/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/daytona/pending.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct daytona_pending {
	pthread_mutex_t mutex;
	struct pending_entry {
		struct arena arena; /* of the texts */
		struct daytona_pending_sandbox sandbox;
	} entries[DAYTONA_PENDING_MAX]; /* an id of NULL: the entry is free */
};

struct daytona_pending *daytona_pending_new(void)
{
	struct daytona_pending *p = memory_new(sizeof(*p));

	pthread_mutex_init(&p->mutex, NULL);
	return p;
}

static void clear_entry(struct pending_entry *e)
{
	arena_done(&e->arena);
	*e = (struct pending_entry){.sandbox = {.id = NULL}};
}

void daytona_pending_free(struct daytona_pending *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < DAYTONA_PENDING_MAX; i++)
		clear_entry(&p->entries[i]);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

static void copy_sandbox(struct arena *a, const struct daytona_pending_sandbox *from,
                         struct daytona_pending_sandbox *ret)
{
	*ret = (struct daytona_pending_sandbox){
	        .id = arena_text(a, from->id),
	        .project_id = arena_text(a, from->project_id),
	        .key_id = arena_text(a, from->key_id),
	        .build_id = arena_text(a, from->build_id),
	        .template = arena_text(a, from->template),
	        .body = {arena_copy(a, from->body), from->body.size},
	        .made_at = from->made_at,
	        .is_being_made = from->is_being_made,
	};
}

/* Called with the mutex held. Returns NULL if there is no such entry. */
static struct pending_entry *find_entry(struct daytona_pending *p, const char *id)
{
	for (size_t i = 0; i < DAYTONA_PENDING_MAX; i++)
		if (p->entries[i].sandbox.id && strcmp(p->entries[i].sandbox.id, id) == 0)
			return &p->entries[i];
	return NULL;
}

/* Called with the mutex held. A project that has too many entries loses its own oldest one, so that
 * it cannot take the entries of other projects. */
static struct pending_entry *choose_entry(struct daytona_pending *p, const char *project_id)
{
	struct pending_entry *oldest = NULL, *own = NULL, *unused = NULL;
	unsigned count = 0;

	for (size_t i = 0; i < DAYTONA_PENDING_MAX; i++) {
		struct pending_entry *e = &p->entries[i];

		if (!e->sandbox.id) {
			unused = e;
			continue;
		}
		if (!oldest || e->sandbox.made_at < oldest->sandbox.made_at)
			oldest = e;
		if (strcmp(e->sandbox.project_id, project_id) != 0)
			continue;
		count++;
		if (!own || e->sandbox.made_at < own->sandbox.made_at)
			own = e;
	}
	if (count >= DAYTONA_PENDING_OF_PROJECT)
		return own;
	return unused ? unused : oldest;
}

void daytona_pending_put(struct daytona_pending *p, const struct daytona_pending_sandbox *sandbox)
{
	struct pending_entry *e;

	pthread_mutex_lock(&p->mutex);
	e = choose_entry(p, sandbox->project_id);
	clear_entry(e);
	copy_sandbox(&e->arena, sandbox, &e->sandbox);
	pthread_mutex_unlock(&p->mutex);
}

bool daytona_pending_find(struct daytona_pending *p, struct arena *a, const char *project_id,
                          const char *id, struct daytona_pending_sandbox *ret)
{
	const struct pending_entry *e;
	bool is_there;

	pthread_mutex_lock(&p->mutex);
	e = find_entry(p, id);
	is_there = e && strcmp(e->sandbox.project_id, project_id) == 0 &&
	           clock_unix_ms() - e->sandbox.made_at < DAYTONA_PENDING_KEPT_MS;
	if (is_there)
		copy_sandbox(a, &e->sandbox, ret);
	pthread_mutex_unlock(&p->mutex);
	return is_there;
}

bool daytona_pending_claim(struct daytona_pending *p, const char *id)
{
	struct pending_entry *e;
	bool is_ours;

	pthread_mutex_lock(&p->mutex);
	e = find_entry(p, id);
	is_ours = e && !e->sandbox.is_being_made;
	if (is_ours)
		e->sandbox.is_being_made = true;
	pthread_mutex_unlock(&p->mutex);
	return is_ours;
}

void daytona_pending_put_back(struct daytona_pending *p, const char *id)
{
	struct pending_entry *e;

	pthread_mutex_lock(&p->mutex);
	e = find_entry(p, id);
	if (e)
		e->sandbox.is_being_made = false;
	pthread_mutex_unlock(&p->mutex);
}

void daytona_pending_drop(struct daytona_pending *p, const char *id)
{
	struct pending_entry *e;

	pthread_mutex_lock(&p->mutex);
	e = find_entry(p, id);
	if (e)
		clear_entry(e);
	pthread_mutex_unlock(&p->mutex);
}
