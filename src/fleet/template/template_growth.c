/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/template/template_growth.h"

#include "fleet/core/fleet_state.h"
#include "image/image.h"
#include "store/templates.h"

/* Between two looks; the last size is looked at in any case. */
#define LOOK_EVERY_MS 100

int template_growth_begin(struct template_growth *g, struct fleet *f,
                          const struct template_record *t, uint64_t *ret_size_max,
                          struct error *err)
{
	*g = (struct template_growth){.fleet = f, .claim = {t->project_id, t->id, t->created_at}};
	if (storage_room(f, &g->claim, &g->room, err) < 0)
		return -1;
	if (g->room < IMAGE_BYTES_MAX)
		*ret_size_max = (uint64_t)g->room;
	return 0;
}

static int write_size(struct fleet *f, const char *id, int64_t bytes, struct error *err)
{
	const struct template_move m = {.id = id,
	                                .from = TEMPLATE_BUILDING,
	                                .to = TEMPLATE_BUILDING,
	                                .state_text = "unpacking",
	                                .size_bytes = bytes,
	                                .now = clock_unix_ms()};

	return store_template_move(f->store, &m, err);
}

void template_growth_update(struct template_growth *g, int64_t bytes)
{
	int64_t now = clock_monotonic_ms();
	struct error err = {0};

	if (g->room == INT64_MAX || g->is_exceeded || now - g->looked_at < LOOK_EVERY_MS)
		return;
	g->looked_at = now;
	if (write_size(g->fleet, g->claim.id, bytes, &err) == 0 &&
	    storage_check(g->fleet, &g->claim, bytes, &err) == 0)
		return;
	/* If the store does not answer, the last check decides. */
	if (err.code != ERROR_LIMIT) {
		log_debug("the size of an import is not compared with the limit",
		          TEXT("template", g->claim.id), FAILURE(&err));
		return;
	}
	g->what = err;
	g->is_exceeded = true;
}

void template_growth_explain(const struct template_growth *g, struct error *err)
{
	struct error full = {0};

	if (g->is_exceeded)
		*err = g->what;
	else if (err->code == ERROR_LIMIT && g->room < INT64_MAX &&
	         storage_check(g->fleet, &g->claim, g->room + 1, &full) < 0)
		*err = full;
}

int template_growth_finish(struct fleet *f, const struct template_record *t, struct error *err)
{
	const struct storage_claim claim = {t->project_id, t->id, 0};
	bool is_own = t->project_id && *t->project_id;

	if (is_own && t->size_bytes > 0 && write_size(f, t->id, t->size_bytes, err) < 0)
		return -1;
	return storage_check(f, &claim, t->size_bytes, err);
}
