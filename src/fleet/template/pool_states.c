/* SPDX-License-Identifier: Apache-2.0 */
/* Pools that cannot be filled: an event for each change, and what /readyz finds. */
#include "fleet/template/pool_states.h"

#include <stdlib.h>
#include <string.h>

#include "fleet/core/fleet_state.h"
#include "json/write.h"
#include "sandbox/events.h"
#include "store/events.h"
#include "store/templates.h"

const struct pool_state *pool_state_find(const struct fleet *f, const char *template_id)
{
	for (size_t i = 0; i < f->pools->state_count; i++)
		if (strcmp(f->pools->states[i].template_id, template_id) == 0)
			return &f->pools->states[i];
	return NULL;
}

static const char *project_of(const struct template_list *templates, const char *template_id)
{
	for (size_t i = 0; i < templates->count; i++)
		if (strcmp(templates->items[i].id, template_id) == 0)
			return templates->items[i].project_id;
	return "";
}

static const char *describe_change(struct arena *a, const struct pool_state *state)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	json_begin_object(&out, NULL);
	json_add_text(&out, "template_id", state->template_id);
	json_add_text(&out, "template", state->template_name);
	if (state->is_failing) {
		json_add_text(&out, "code", error_kind_get(state->problem.code)->name);
		json_add_text(&out, "reason", state->problem.text);
		json_add_text(&out, "cure", state->problem.hint);
	}
	json_end_object(&out);
	return arena_copy(a, buf_span(&out));
}

static void add_change_event(struct fleet *f, const char *project_id,
                             const struct pool_state *state)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *text =
	        state->is_failing
	                ? arena_format(&arena, "the pool of template '%s' cannot be filled: %s",
	                               state->template_name, state->problem.text)
	                : arena_format(&arena, "the pool of template '%s' can be filled again",
	                               state->template_name);
	const struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = project_id,
	        .sandbox_id = "",
	        .kind = event_kind_name(state->is_failing ? EVENT_POOL_FAILED
	                                                  : EVENT_POOL_RECOVERED),
	        .reason = "",
	        .text = text,
	        .detail = describe_change(&arena, state),
	};
	struct error err = {0};

	if (state->is_failing)
		log_warning("a pool cannot be filled", TEXT("template", state->template_name),
		            TEXT("project", project_id), FAILURE(&state->problem),
		            TEXT("cure", state->problem.hint));
	else
		log_info("a pool can be filled again", TEXT("template", state->template_name));
	if (store_event_add(f->store, &event, &err) < 0)
		log_warning("an event is lost", TEXT("template", state->template_id),
		            FAILURE(&err));
}

void pool_states_replace(struct fleet *f, const struct template_list *templates,
                         const struct pool_state *now, size_t count)
{
	struct pool_state *states = memory_array(count + 1, sizeof(*states));

	memcpy(states, now, count * sizeof(*states));
	for (size_t i = 0; i < count; i++) {
		const struct pool_state *before = pool_state_find(f, states[i].template_id);

		if (states[i].is_failing != (before && before->is_failing))
			add_change_event(f, project_of(templates, states[i].template_id),
			                 &states[i]);
	}
	free(f->pools->states);
	f->pools->states = states;
	f->pools->state_count = count;
}

int fleet_pools_check_shared(struct fleet *fleet, size_t *ret_count, struct error *err)
{
	const struct pool_counts *pools = fleet->pools;
	int result = 0;

	*ret_count = 0;
	pthread_mutex_lock(&fleet->pools->mutex);
	for (size_t i = 0; i < pools->state_count; i++) {
		const struct pool_state *state = &pools->states[i];

		*ret_count += state->is_shared;
		if (!state->is_shared || !state->is_failing || result < 0)
			continue;
		result = FAIL(err, ERROR_UNAVAILABLE,
		              "the pool of template '%s' cannot be filled: %s",
		              state->template_name, state->problem.text);
		error_hint(err, "%s", state->problem.hint);
	}
	pthread_mutex_unlock(&fleet->pools->mutex);
	return result;
}
