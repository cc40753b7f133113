/* SPDX-License-Identifier: Apache-2.0 */
#include "grant/silence.h"

#include <stdlib.h>

#include "base/bytes.h"

#define WAIT_MIN_MS INT64_C(2000)
#define WAIT_MAX_MS INT64_C(60000)
#define MISSES_MAX 16

struct silence *silence_of(struct map *table, const char *id)
{
	struct silence *s = map_find(table, id);

	if (!s) {
		s = memory_new(sizeof(*s));
		(void)map_put(table, id, s);
	}
	s->is_listed = true;
	return s;
}

void silence_note_answer(struct silence *s)
{
	s->misses = 0;
	s->answers += s->answers < MISSES_MAX;
}

void silence_note_miss(struct silence *s, int64_t now)
{
	int64_t wait_ms = s->misses == 0 ? 0 : WAIT_MIN_MS << (s->misses - 1);

	s->answers = 0;
	s->misses += s->misses < MISSES_MAX;
	s->next_try = now + (wait_ms < WAIT_MAX_MS ? wait_ms : WAIT_MAX_MS);
}

void silence_forget_unlisted(struct map *table)
{
	AUTO(arena_done) struct arena a = {0};
	const char **gone = ARENA_ARRAY(&a, const char *, table->count + 1), *id;
	struct silence *s;
	size_t at = 0, count = 0;

	while ((s = map_next(table, &at, &id))) {
		if (!s->is_listed)
			gone[count++] = arena_text(&a, id);
		s->is_listed = false;
	}
	for (size_t i = 0; i < count; i++)
		free(map_remove(table, gone[i]));
}

void silence_done(struct map *table)
{
	map_free_values(table);
}

bool silence_comes_before(const struct silence_turn *a, const struct silence_turn *b)
{
	if (!b->silence)
		return true;
	if (a->is_urgent != b->is_urgent)
		return a->is_urgent;
	if (a->silence->misses != b->silence->misses)
		return a->silence->misses < b->silence->misses;
	return a->silence->next_try < b->silence->next_try;
}
