/* SPDX-License-Identifier: Apache-2.0 */
/* Uses of credentials in the audit: the first use in a sandbox at once, further uses as one row a
 * minute with their number. */
#include <stdlib.h>
#include <string.h>

#include "audit/log/log.h"
#include "base/clock.h"
#include "grant/state.h"
#include "json/write.h"
#include "store/sandbox_record.h"

#define EVERY_MS 60000
#define SIZE_MAX_OF_AFTER 1024

/* A credential in a sandbox. Its texts are its own. */
struct audited_use {
	char *project_id, *user_id, *key_id, *sandbox_id;
	char *kind, *name, *rule, *host;
	uint64_t waiting; /* requests without a row */
	int64_t told_at;  /* monotonic ms */
};

static void free_use(struct audited_use *use)
{
	free(use->project_id);
	free(use->user_id);
	free(use->key_id);
	free(use->sandbox_id);
	free(use->kind);
	free(use->name);
	free(use->rule);
	free(use->host);
	free(use);
}

static struct audited_use *copy_use(const struct grant_audit *a)
{
	struct audited_use *use = memory_new(sizeof(*use));

	*use = (struct audited_use){
	        .project_id = memory_text(a->sandbox->project_id),
	        .user_id = memory_text(a->sandbox->user_id),
	        .key_id = memory_text(a->sandbox->key_id),
	        .sandbox_id = memory_text(a->sandbox->id),
	        .kind = memory_text(a->kind),
	        .name = memory_text(a->name),
	        .rule = memory_text(a->rule),
	        .host = memory_text(a->host),
	};
	return use;
}

static void add_row(struct grants *g, struct audited_use *use)
{
	AUTO(buf_done) struct buf after = BUF(SIZE_MAX_OF_AFTER);
	struct audit_start start = {
	        .project_id = use->project_id,
	        .user_id = use->user_id,
	        .key_id = use->key_id,
	        .via = "sandbox",
	        .action = "credentials.use",
	        .target_kind = use->kind,
	        .target_id = use->name,
	};

	json_begin_object(&after, NULL);
	json_add_text(&after, "sandbox", use->sandbox_id);
	json_add_text(&after, "rule", use->rule);
	json_add_text(&after, "host", use->host);
	json_add_whole(&after, "requests", (int64_t)use->waiting);
	json_end_object(&after);
	start.after_json = buf_span(&after);
	audit_add(g->options.audit, &start, "ok", 0);
	use->waiting = 0;
	use->told_at = clock_monotonic_ms();
}

void grant_audit_use(struct grants *g, struct arena *arena, const struct grant_audit *a)
{
	const char *key = arena_format(arena, "%s %s %s", a->sandbox->id, a->name, a->rule);
	struct audited_use *use = map_find(&g->audited, key);
	bool is_new = !use;

	if (!g->options.audit)
		return;
	if (is_new)
		use = copy_use(a);
	use->waiting += a->requests;
	if (is_new)
		add_row(g, use);
	if (is_new && g->audited.count < GRANT_AUDITED_MAX)
		(void)map_put(&g->audited, key, use);
	else if (is_new)
		free_use(use); /* each of its uses has a row */
}

/* Adds rows that are due; forgets what was not used for as long. */
void grant_audit_round(struct grants *g, bool is_last)
{
	AUTO(arena_done) struct arena a = {0};
	const char **gone = ARENA_ARRAY(&a, const char *, g->audited.count + 1), *key;
	int64_t now = clock_monotonic_ms();
	struct audited_use *use;
	size_t at = 0, count = 0;

	while ((use = map_next(&g->audited, &at, &key))) {
		bool is_due = is_last || now - use->told_at >= EVERY_MS;

		if (is_due && use->waiting == 0)
			gone[count++] = arena_text(&a, key);
		else if (is_due)
			add_row(g, use);
	}
	for (size_t i = 0; i < count; i++)
		free_use(map_remove(&g->audited, gone[i]));
}

void grant_audit_done(struct grants *g)
{
	struct audited_use *use;
	const char *key;
	size_t at = 0;

	grant_audit_round(g, true);
	while ((use = map_next(&g->audited, &at, &key)))
		free_use(use);
	map_done(&g->audited);
}
