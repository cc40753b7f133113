/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/api/secret — named values of a project, which E2B's clients see, too. They are stored
 * encrypted and never returned. A sandbox gets a placeholder (attached.c). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "json/write.h"
#include "store/vault.h"
#include "surface/daytona/attached.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

#define BASE DAYTONA_API "/secret"
#define NAME_SIZE_MAX 128
#define VALUE_MAX 65536
#define DESCRIPTION_MAX 1000
#define HOSTS_MAX DAYTONA_SECRET_HOSTS_MAX
#define HOST_SIZE_MAX 253
#define METADATA_MAX ((size_t)64 * 1024)
#define NO_HOSTS "without hosts, the value is not put into requests"

struct daytona_secret_body {
	const char *name, *value, *description;
	const char **hosts;
};
#define BODY_ROWS                                                                                  \
	JSON_TEXT_MEMBER(daytona_secret_body, description, .max = DESCRIPTION_MAX),                \
	        JSON_TEXT_LIST_MEMBER(daytona_secret_body, hosts, .max = HOSTS_MAX)
static const struct json_member secret_request_members[] = {
        JSON_TEXT_MEMBER(daytona_secret_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = NAME_SIZE_MAX),
        JSON_TEXT_MEMBER(daytona_secret_body, value, .flags = JSON_REQUIRED | JSON_SECRET, .min = 1,
                         .max = VALUE_MAX),
        BODY_ROWS,
};
static JSON_OPEN_SHAPE(secret_request, "DaytonaSecretCreate", daytona_secret_body,
                       "A secret to store");
static const struct json_member secret_change_members[] = {
        JSON_TEXT_MEMBER(daytona_secret_body, value, .flags = JSON_SECRET, .min = 1,
                         .max = VALUE_MAX),
        BODY_ROWS,
};
static JSON_OPEN_SHAPE(secret_change, "DaytonaSecretChange", daytona_secret_body,
                       "The members to replace");

/* Members that only Daytona has are stored in the record's metadata, a map of texts that E2B's
 * clients see. */
struct secret_metadata {
	const char *description, *hosts; /* hosts: joined by commas */
};
static const struct json_member secret_metadata_members[] = {
        JSON_TEXT_MEMBER(secret_metadata, description, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(secret_metadata, hosts, .flags = JSON_OMIT_EMPTY),
};
static JSON_OPEN_SHAPE(secret_metadata, "DaytonaSecretMetadata", secret_metadata,
                       "Daytona's members of a secret");

struct secret_dto {
	const char *id, *name, *description, *placeholder, *warning;
	const char **hosts;
	int64_t created_at, updated_at;
};
static const struct json_member secret_shape_members[] = {
        JSON_TEXT_MEMBER(secret_dto, id),
        JSON_TEXT_MEMBER(secret_dto, name),
        JSON_TEXT_MEMBER(secret_dto, description, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(secret_dto, placeholder),
        JSON_TEXT_LIST_MEMBER(secret_dto, hosts),
        JSON_TEXT_MEMBER(secret_dto, warning, .flags = JSON_OMIT_EMPTY),
        JSON_TIME_MEMBER(secret_dto, created_at, .name = "createdAt"),
        JSON_TIME_MEMBER(secret_dto, updated_at, .name = "updatedAt"),
};
static JSON_SHAPE(secret_shape, "DaytonaSecret", secret_dto, "A secret, without its value");

enum { BY_NAME, BY_CREATED, BY_UPDATED };
static const char *const sorts[] = {"name", "createdAt", "updatedAt", NULL};
enum { ASCENDING, DESCENDING };
static const char *const orders[] = {"asc", "desc", NULL};
struct secrets_page_query {
	const char *name;
	int64_t cursor, limit;
	int sort, order;
	uint64_t present;
};
enum { GIVEN_SORT, GIVEN_ORDER };
static const struct json_member page_query_members[] = {
        [GIVEN_SORT] = JSON_CHOICE_MEMBER(secrets_page_query, sort, .choices = sorts),
        [GIVEN_ORDER] = JSON_CHOICE_MEMBER(secrets_page_query, order, .choices = orders),
        JSON_TEXT_MEMBER(secrets_page_query, name, .max = NAME_SIZE_MAX),
        JSON_WHOLE_MEMBER(secrets_page_query, cursor, .min = 0, .max = STORE_VAULT_MAX),
        JSON_WHOLE_MEMBER(secrets_page_query, limit, .min = 1, .max = 200),
};
static JSON_OPEN_BITS_SHAPE(page_query, "DaytonaSecretsQuery", secrets_page_query,
                            "The secrets to list");

static int check_name(const char *name, struct error *err)
{
	bool fine = isalpha((unsigned char)name[0]) || name[0] == '_';

	for (const char *c = name; *c; c++)
		fine = fine && (isalnum((unsigned char)*c) || *c == '_' || *c == '-');
	return fine ? 0
	            : FAIL(err, ERROR_INVALID,
	                   "name: letters, digits, '_' and '-', the first a letter or '_'");
}

/* A host name, or "*." and a host name. */
static int check_host(const char *host, struct error *err)
{
	const char *name = strncmp(host, "*.", 2) == 0 ? host + 2 : host;
	bool fine = isalnum((unsigned char)name[0]) && strlen(name) <= HOST_SIZE_MAX;

	for (const char *c = name; *c; c++)
		fine = fine && (isalnum((unsigned char)*c) || *c == '.' || *c == '-');
	return fine ? 0
	            : FAIL(err, ERROR_INVALID,
	                   "hosts: '%.80s' is not a host name, or '*.' and a host name; ports are "
	                   "not allowed",
	                   host);
}

static int join_hosts(struct arena *a, const char *const *hosts, const char **ret,
                      struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(METADATA_MAX);

	for (size_t i = 0; hosts[i]; i++) {
		if (check_host(hosts[i], err) < 0)
			return -1;
		buf_addf(&text, "%s%s", i > 0 ? "," : "", hosts[i]);
	}
	*ret = arena_copy(a, buf_span(&text));
	return 0;
}

static const char **split_hosts(struct arena *a, const char *text)
{
	const char **hosts = ARENA_ARRAY(a, const char *, HOSTS_MAX + 1);
	struct span rest = span_of(text ? text : ""), host;
	size_t count = 0;

	while (rest.size > 0 && count < HOSTS_MAX) {
		(void)span_split(&rest, ',', &host);
		hosts[count++] = arena_copy(a, host);
	}
	hosts[count] = NULL;
	return hosts;
}

/* The metadata of a secret that an E2B client has made may have any content. */
static struct secret_metadata metadata_of(struct arena *a, const struct vault_record *r)
{
	struct secret_metadata metadata = {NULL, NULL};
	struct error ignored;

	if (json_parse(a, span_of(r->metadata_json), &secret_metadata, &metadata, &ignored) < 0)
		return (struct secret_metadata){NULL, NULL};
	return metadata;
}

static void write_pair(struct buf *out, const char *key, const char *value)
{
	if (value)
		json_add_text(out, key, value);
}

/* Keeps the metadata that E2B's clients have set. */
static int write_metadata(struct arena *a, const struct secret_metadata *metadata,
                          struct vault_record *r, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(METADATA_MAX);
	const struct json_value *all;
	const char *key;

	if (json_load(a, span_of(r->metadata_json), &all, err) < 0)
		return -1;
	json_begin_object(&text, NULL);
	write_pair(&text, "description", text_or_null(metadata->description));
	write_pair(&text, "hosts", text_or_null(metadata->hosts));
	for (size_t i = 0; i < json_count(all); i++) {
		const char *value = json_text(json_member_at(all, i, &key), NULL);

		if (strcmp(key, "description") != 0 && strcmp(key, "hosts") != 0)
			write_pair(&text, key, value);
	}
	json_end_object(&text);
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "description and hosts are too large");
	r->metadata_json = arena_copy(a, buf_span(&text));
	return 0;
}

/* Members that the body omits stay as they are. */
static int change_record(struct arena *a, const struct daytona_secret_body *b,
                         struct vault_record *r, struct error *err)
{
	struct secret_metadata metadata = metadata_of(a, r);

	if (b->description)
		metadata.description = b->description;
	if (b->hosts && join_hosts(a, (const char *const *)b->hosts, &metadata.hosts, err) < 0)
		return -1;
	if ((b->description || b->hosts) && write_metadata(a, &metadata, r, err) < 0)
		return -1;
	if (b->value)
		r->value = b->value;
	r->updated_at = clock_unix_ms();
	return 0;
}

const char *daytona_placeholder(struct arena *a, const struct vault_record *r)
{
	return arena_format(a, DAYTONA_PLACEHOLDER "%s", r->id);
}

const char **daytona_secret_hosts(struct arena *a, const struct vault_record *r)
{
	return split_hosts(a, metadata_of(a, r).hosts);
}

static struct secret_dto dto_of(struct arena *a, const struct vault_record *r)
{
	const struct secret_metadata metadata = metadata_of(a, r);

	return (struct secret_dto){
	        .id = r->id,
	        .name = r->name,
	        .description = metadata.description,
	        .placeholder = daytona_placeholder(a, r),
	        .hosts = split_hosts(a, metadata.hosts),
	        .warning = text_or_null(metadata.hosts) ? NULL : NO_HOSTS,
	        .created_at = r->created_at,
	        .updated_at = r->updated_at,
	};
}

static int reply_secret(struct request *rq, struct reply *reply, const struct vault_record *r)
{
	const struct secret_dto dto = dto_of(rq->arena, r);

	reply_json(reply, &secret_shape, &dto);
	return 0;
}

static int find_secret(struct request *rq, struct vault_record *ret, struct error *err)
{
	return store_vault_find(api_of(rq)->store, rq->arena, api_project(rq),
	                        request_param(rq, "id"), ret, err);
}

static int create_secret(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct daytona_secret_body *b = body;
	struct id id = id_new();
	struct vault_record record = {
	        .id = id.text,
	        .project_id = api_project(rq),
	        .name = b->name,
	        .metadata_json = "{}",
	        .version = 1,
	};

	if (check_name(b->name, err) < 0 || change_record(rq->arena, b, &record, err) < 0)
		return -1;
	record.created_at = record.updated_at;
	if (store_vault_insert(api_of(rq)->store, &record, err) < 0)
		return -1;
	reply_status(reply, 201);
	return reply_secret(rq, reply, &record);
}

static int get_secret(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct vault_record record;

	return find_secret(rq, &record, err) < 0 ? -1 : reply_secret(rq, reply, &record);
}

static int update_secret(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct daytona_secret_body *b = body;
	struct vault_record record;

	if (find_secret(rq, &record, err) < 0 || change_record(rq->arena, b, &record, err) < 0 ||
	    (b->value ? store_vault_update : store_vault_describe)(api_of(rq)->store, rq->arena,
	                                                           &record, &record, err) < 0)
		return -1;
	return reply_secret(rq, reply, &record);
}

static int delete_secret(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	if (store_vault_remove(api_of(rq)->store, api_project(rq), request_param(rq, "id"), err) <
	    0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

struct secret_sorting {
	int sort, order;
};

static int compare_secrets(const void *one, const void *other, void *context)
{
	const struct vault_record *a = one, *b = other;
	const struct secret_sorting *s = context;
	int64_t at_a = s->sort == BY_UPDATED ? a->updated_at : a->created_at;
	int64_t at_b = s->sort == BY_UPDATED ? b->updated_at : b->created_at;
	int by_time = (at_a > at_b) - (at_a < at_b), by_name = strcmp(a->name, b->name);
	int result = s->sort == BY_NAME || by_time == 0 ? by_name : by_time;

	return s->order == DESCENDING ? -result : result;
}

static size_t keep_named(struct vault_list *list, const char *part)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (!part || strcasestr(list->items[i].name, part))
			list->items[count++] = list->items[i];
	return count;
}

static void write_items(struct arena *a, struct buf *out, const struct vault_record *items,
                        size_t count)
{
	json_begin_list(out, NULL);
	for (size_t i = 0; i < count; i++) {
		const struct secret_dto dto = dto_of(a, &items[i]);

		json_add_struct(out, NULL, &secret_shape, &dto);
	}
	json_end_list(out);
}

static int list_secrets(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct vault_list found;

	if (store_vault_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	write_items(rq->arena, reply_buf(reply, "application/json"), found.items, found.count);
	return 0;
}

static int list_secrets_page(struct request *rq, UNUSED const void *body, struct reply *reply,
                             struct error *err)
{
	const struct secrets_page_query *q = rq->query;
	struct buf *out = reply_buf(reply, "application/json");
	struct secret_sorting sorting = {BY_CREATED, DESCENDING};
	size_t limit = q->limit ? (size_t)q->limit : 100, first = (size_t)q->cursor;
	struct vault_list found;

	if (store_vault_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	found.count = keep_named(&found, q->name);
	if (q->present & 1u << GIVEN_SORT)
		sorting.sort = q->sort;
	if (q->present & 1u << GIVEN_ORDER)
		sorting.order = q->order;
	if (found.count > 1)
		qsort_r(found.items, found.count, sizeof(*found.items), compare_secrets, &sorting);
	if (first > found.count)
		first = found.count;
	if (limit > found.count - first)
		limit = found.count - first;
	json_begin_object(out, NULL);
	json_add_name(out, "items");
	write_items(rq->arena, out, found.items + first, limit);
	json_add_whole(out, "total", (int64_t)found.count);
	json_add_text(out, "nextCursor",
	              first + limit < found.count ? arena_format(rq->arena, "%zu", first + limit)
	                                          : NULL);
	json_end_object(out);
	return 0;
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define WRITE SCOPE_SANDBOX_WRITE, ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_secrets_routes[] = {
        {HTTP_GET, BASE, READ, .handle = list_secrets, TAG, .summary = "List secrets"},
        {HTTP_GET, BASE "/paginated", READ, .query = &page_query, .handle = list_secrets_page, TAG,
         .summary = "List secrets in pages"},
        {HTTP_POST, BASE, WRITE, .body = &secret_request, .status = 201, .handle = create_secret,
         TAG, .summary = "Store a secret"},
        {HTTP_GET, BASE "/:id", READ, .handle = get_secret, TAG,
         .summary = "Get a secret without its value"},
        {HTTP_PATCH, BASE "/:id", WRITE, .body = &secret_change, .handle = update_secret, TAG,
         .summary = "Replace members of a secret"},
        {HTTP_DELETE, BASE "/:id", WRITE, .status = 204, .handle = delete_secret, TAG,
         .summary = "Delete a secret"},
        {.path = NULL},
};
