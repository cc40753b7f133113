/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/sandbox/instances — conditions, order, pages and chosen members. */
#include <string.h>

#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "json/write.h"
#include "provider/set.h"
#include "store/sandboxes.h"
#include "surface/native/native.h"
#include "surface/native/sandbox_answer.h"

#define LIMIT_USUAL 100
#define LABELS_MAX 16
#define ME "me"

/* In pairs: ascending, descending. */
static const char *const sorts[] = {
        [2 * SANDBOX_BY_CREATED] = "created",
        "-created",
        [2 * SANDBOX_BY_ACTIVITY] = "last_activity",
        "-last_activity",
        [2 * SANDBOX_BY_NAME] = "name",
        "-name",
        [2 * SANDBOX_BY_STATE] = "state",
        "-state",
        [2 * SANDBOX_ORDER_COUNT] = NULL,
};

struct sandbox_list_query {
	int sort;
	const char **states, **labels;
	const char *name, *text, *template, *provider, *isolation, *region, *created_by, *fields,
	        *page;
	int64_t limit;
	bool builds;
	uint64_t present;
};
enum { LIST_SORT };
static const struct json_member sandbox_list_query_members[] = {
        [LIST_SORT] = JSON_CHOICE_MEMBER(
                sandbox_list_query, sort, .choices = sorts,
                .about = "order of the items; - is descending (default -created)"),
        JSON_TEXT_LIST_MEMBER(sandbox_list_query, states, .name = "state",
                              .max = SANDBOX_STATE_COUNT,
                              .about = "only sandboxes in one of these states, also separated by "
                                       "commas; deleted ones can be listed, too"),
        JSON_TEXT_MEMBER(sandbox_list_query, name, .max = SANDBOX_NAME_MAX,
                         .about = "only the sandbox with exactly this name"),
        JSON_TEXT_MEMBER(sandbox_list_query, text, .name = "q", .max = 128,
                         .about = "only sandboxes with this text in their name, in their id, or in "
                                  "a label as KEY=VALUE; case does not matter"),
        JSON_TEXT_MEMBER(sandbox_list_query, template, .max = 128, .about = "its name or its id"),
        JSON_TEXT_LIST_MEMBER(sandbox_list_query, labels, .name = "label", .max = LABELS_MAX,
                              .about = "KEY=VALUE; of several labels each must match"),
        JSON_TEXT_MEMBER(sandbox_list_query, provider, .max = 64),
        JSON_TEXT_MEMBER(sandbox_list_query, isolation, .max = 64),
        JSON_TEXT_MEMBER(sandbox_list_query, region, .max = 64),
        JSON_TEXT_MEMBER(sandbox_list_query, created_by, .max = ACCOUNT_USER_MAX,
                         .about = "id of a key or of a user; " ME ": the caller"),
        JSON_TEXT_MEMBER(sandbox_list_query, fields, .max = 1024,
                         .about = "members of the items, separated by commas (default: all)",
                         .example = "id,name,state,version"),
        JSON_TEXT_MEMBER(sandbox_list_query, page, .max = 256,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(sandbox_list_query, limit, .min = 1, .max = 1000,
                          .about = "items per page (default 100)"),
        JSON_BOOL_MEMBER(sandbox_list_query, builds,
                         .about = "also sandboxes that builds made for themselves"),
};
static JSON_BITS_SHAPE(sandbox_list_query, "SandboxListQuery", sandbox_list_query,
                       "Filter for sandboxes");

struct sandbox_list_answer {
	struct json_list items;
	const char *next_page;
	int64_t total;
};
static const struct json_member sandbox_list_shape_members[] = {
        JSON_LIST_MEMBER(sandbox_list_answer, items, &sandbox_shape),
        JSON_TEXT_MEMBER(sandbox_list_answer, next_page, .flags = JSON_NULLABLE),
        JSON_WHOLE_MEMBER(sandbox_list_answer, total,
                          .about = "number of sandboxes on all pages together"),
};
static JSON_SHAPE(sandbox_list_shape, "SandboxList", sandbox_list_answer, "One page of sandboxes");

static int add_states(struct buf *out, const char *list, struct error *err)
{
	struct span rest = span_of(list), part;
	enum sandbox_state state;

	while (rest.size > 0) {
		(void)span_split(&rest, ',', &part);
		if (part.size > 16)
			return FAIL(err, ERROR_INVALID, "state '%.16s…' is not known", part.data);
		char name[17] = "";

		memcpy(name, part.data, part.size);
		if (sandbox_state_parse(name, &state, err) < 0)
			return -1;
		json_add_bool(out, sandbox_state_name(state), true);
	}
	return 0;
}

static int parse_states(struct arena *a, const char *const *states, const char **ret,
                        struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);

	json_begin_object(&out, NULL);
	for (size_t i = 0; states[i]; i++)
		if (add_states(&out, states[i], err) < 0)
			return -1;
	json_end_object(&out);
	*ret = arena_copy(a, buf_span(&out));
	return 0;
}

static int parse_label(struct arena *a, const char *text, struct json_pair *ret, struct error *err)
{
	struct span value = span_of(text), key;

	if (!span_split(&value, '=', &key) || key.size == 0) {
		(void)FAIL(err, ERROR_INVALID, "label '%.200s' has no '='", text);
		error_hint(err, "label=KEY=VALUE");
		return -1;
	}
	*ret = (struct json_pair){arena_copy(a, key), arena_copy(a, value)};
	return 0;
}

/* The first label may be that of builds, which the store knows as such. */
static int parse_labels(struct arena *a, const char *const *texts, struct sandbox_filter *filter,
                        struct error *err)
{
	struct json_pair pairs[LABELS_MAX];
	struct json_map more = {.pairs = pairs + 1, .present = true};
	size_t count = 0;

	for (; texts[count]; count++)
		if (parse_label(a, texts[count], &pairs[count], err) < 0)
			return -1;
	if (count == 0)
		return 0;
	filter->label_key = pairs[0].key;
	filter->label_value = pairs[0].value;
	more.count = count - 1;
	if (more.count > 0)
		filter->labels_json = json_format_map(a, &more);
	return 0;
}

static void choose_kind(struct buf *out, const struct provider_ops *ops, const char *name,
                        const char *wanted_name, const char *isolation)
{
	if ((!wanted_name || strcmp(wanted_name, name) == 0) &&
	    (!isolation || strcmp(isolation, ops->isolation) == 0))
		json_add_bool(out, name, true);
}

/* The providers with this name and this isolation, and the kinds, whose names rows of an earlier
 * configuration have; an object without members when none has. */
static const char *choose_providers(struct request *rq, const char *name, const char *isolation)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	const struct provider_set *set = fleet_providers(api_of(rq)->fleet);

	if (!name && !isolation)
		return NULL;
	json_begin_object(&out, NULL);
	for (unsigned i = 0; i < provider_set_count(set); i++)
		if (!provider_member_has_left(provider_set_at(set, i)))
			choose_kind(&out, provider_member_ops(provider_set_at(set, i)),
			            provider_set_at(set, i)->name, name, isolation);
	for (size_t i = 0; providers[i]; i++)
		if (!provider_set_find(set, providers[i]->name))
			choose_kind(&out, providers[i], providers[i]->name, name, isolation);
	json_end_object(&out);
	return arena_copy(rq->arena, buf_span(&out));
}

static const char *resolve_creator(const struct request *rq, const char *creator)
{
	if (!creator || strcmp(creator, ME) != 0)
		return creator;
	return api_user_id(rq)[0] ? api_user_id(rq) : api_key_id(rq);
}

static int parse_list_filter(struct request *rq, struct sandbox_filter *ret, struct error *err)
{
	const struct sandbox_list_query *q = rq->query;
	bool is_sorted = row_is_given(q->present, LIST_SORT);

	*ret = (struct sandbox_filter){
	        .project_id = api_project(rq),
	        .state = -1,
	        .name = q->name,
	        .template = q->template,
	        .region = q->region,
	        .providers = choose_providers(rq, q->provider, q->isolation),
	        .created_by = resolve_creator(rq, text_or_null(q->created_by)),
	        .search = text_or_null(q->text),
	        .page = q->page,
	        .limit = q->limit ? (unsigned)q->limit : LIMIT_USUAL,
	        .order = is_sorted ? (unsigned)q->sort / 2 : SANDBOX_BY_CREATED,
	        .ascending = is_sorted && q->sort % 2 == 0,
	        .with_builds = q->builds,
	};
	if (q->states &&
	    parse_states(rq->arena, (const char *const *)q->states, &ret->states, err) < 0)
		return FAIL_CONTEXT(err, "state");
	return q->labels ? parse_labels(rq->arena, (const char *const *)q->labels, ret, err) : 0;
}

/* A page that is the first and the last has counted them already. */
static int count_sandboxes(struct request *rq, const struct sandbox_filter *filter,
                           const struct sandbox_list *found, int64_t *ret, struct error *err)
{
	*ret = (int64_t)found->count;
	if (!filter->page && !found->next_page)
		return 0;
	return store_sandbox_total(api_of(rq)->store, filter, ret, err);
}

static void write_list(struct reply *reply, const struct sandbox_list_answer *answer,
                       uint64_t members)
{
	struct buf *out = reply_buf(reply, "application/json");
	const char *item = answer->items.items;

	json_begin_object(out, NULL);
	json_begin_list(out, "items");
	for (size_t i = 0; i < answer->items.count; i++) {
		json_add_name(out, NULL);
		json_write_members(out, &sandbox_shape, item + i * sandbox_shape.size, members);
	}
	json_end_list(out);
	json_add_text(out, "next_page", answer->next_page);
	json_add_whole(out, "total", answer->total);
	json_end_object(out);
}

static int sandbox_list(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct sandbox_list_query *q = rq->query;
	struct sandbox_list_answer answer;
	struct sandbox_filter filter;
	struct sandbox_list found;
	uint64_t members = UINT64_MAX;

	(void)body;
	if (q->fields &&
	    json_parse_members(rq->arena, q->fields, &sandbox_shape, &members, err) < 0)
		return FAIL_CONTEXT(err, "fields");
	if (parse_list_filter(rq, &filter, err) < 0 ||
	    store_sandbox_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0 ||
	    count_sandboxes(rq, &filter, &found, &answer.total, err) < 0)
		return -1;
	answer.next_page = found.next_page;
	if (!sandbox_members_need_relations(members))
		answer.items = sandbox_answers(rq, found.items, found.count);
	else if (sandbox_answers_with_relations(rq, found.items, found.count, &answer.items, err) <
	         0)
		return -1;
	write_list(reply, &answer, members);
	return 0;
}

const struct route sandbox_list_routes[] = {
        {HTTP_GET, "/api/sandbox/instances", SCOPE_SANDBOX_READ, .query = &sandbox_list_query,
         .answer = &sandbox_list_shape, .handle = sandbox_list, .tag = "sandboxes",
         .summary = "List sandboxes, newest first"},
        {.path = NULL},
};
