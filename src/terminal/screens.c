/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/screens.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"

struct screen_entry {
	char sandbox[ID_SIZE + 1];
	uint64_t process, started_unix_ms, used;
	struct screen *screen; /* NULL = free */
};

struct screens {
	pthread_mutex_t lock; /* guards all of this */
	struct screen_entry entries[SCREENS_MAX];
	uint64_t uses;
	size_t cells;
};

struct screens *screens_new(void)
{
	struct screens *s = memory_new(sizeof(*s));

	(void)pthread_mutex_init(&s->lock, NULL);
	return s;
}

void screens_free(struct screens *s)
{
	for (unsigned i = 0; i < SCREENS_MAX; i++)
		screen_free(s->entries[i].screen);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct screen *clear_entry(struct screens *s, struct screen_entry *e)
{
	if (e->screen)
		s->cells -= screen_cells(e->screen);
	return TAKE(e->screen);
}

static bool entry_fits(const struct screen_entry *e, const struct screen_key *key)
{
	return e->screen && e->process == key->process &&
	       e->started_unix_ms == key->started_unix_ms && strcmp(e->sandbox, key->sandbox) == 0;
}

struct screen *screens_take(struct screens *s, const struct screen_key *key)
{
	struct screen *found = NULL;

	(void)pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < SCREENS_MAX && !found; i++)
		if (entry_fits(&s->entries[i], key))
			found = clear_entry(s, &s->entries[i]);
	(void)pthread_mutex_unlock(&s->lock);
	return found;
}

/* A free entry, else the least recently used one. */
static struct screen_entry *oldest_entry(struct screens *s)
{
	struct screen_entry *best = &s->entries[0];

	for (unsigned i = 0; i < SCREENS_MAX && best->screen; i++)
		if (!s->entries[i].screen || s->entries[i].used < best->used)
			best = &s->entries[i];
	return best;
}

static struct screen_entry *oldest_used(struct screens *s)
{
	struct screen_entry *best = NULL;

	for (unsigned i = 0; i < SCREENS_MAX; i++)
		if (s->entries[i].screen && (!best || s->entries[i].used < best->used))
			best = &s->entries[i];
	return best;
}

void screens_put(struct screens *s, const struct screen_key *key, struct screen *screen)
{
	struct screen_entry *e;

	(void)pthread_mutex_lock(&s->lock);
	e = oldest_entry(s);
	screen_free(clear_entry(s, e));
	e->process = key->process;
	e->started_unix_ms = key->started_unix_ms;
	e->used = ++s->uses;
	e->screen = screen;
	(void)snprintf(e->sandbox, sizeof(e->sandbox), "%s", key->sandbox);
	s->cells += screen_cells(screen);
	while (s->cells > SCREENS_CELLS_MAX)
		screen_free(clear_entry(s, oldest_used(s)));
	(void)pthread_mutex_unlock(&s->lock);
}
