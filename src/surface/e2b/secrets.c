/* SPDX-License-Identifier: Apache-2.0 */
/* /secrets — named values of a project. They are stored encrypted and never returned. Rules of a
 * sandbox's network name them (rules.c). */
#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "json/json.h"
#include "json/write.h"
#include "store/vault.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"

#define ID_MARK "sec_"
#define NAME_MAX_SIZE 128
#define VALUE_MAX 65536
#define PAIRS_MAX 32
#define METADATA_KEY_MAX 128
#define METADATA_VALUE_MAX 1024
#define METADATA_MAX 8192

struct e2b_secret_body {
	const char *name, *value;
	struct json_map metadata;
};
#define VALUE_ROWS                                                                                 \
	JSON_TEXT_MEMBER(e2b_secret_body, value, .flags = JSON_REQUIRED | JSON_SECRET,             \
	                 .max = VALUE_MAX),                                                        \
	        JSON_TEXT_MAP_MEMBER(e2b_secret_body, metadata, .max = PAIRS_MAX)
static const struct json_member secret_request_members[] = {
        JSON_TEXT_MEMBER(e2b_secret_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = NAME_MAX_SIZE),
        VALUE_ROWS,
};
static JSON_OPEN_SHAPE(secret_request, "E2bNewSecret", e2b_secret_body, "A secret to store");
static const struct json_member value_request_members[] = {VALUE_ROWS};
static JSON_OPEN_SHAPE(value_request, "E2bSecretUpdate", e2b_secret_body,
                       "A new value of a secret");

struct e2b_secret_answer {
	const char *secret_id, *name;
	int64_t version, created_at, updated_at;
	struct span metadata;
};
static const struct json_member secret_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_secret_answer, secret_id, .name = "secretID"),
        JSON_TEXT_MEMBER(e2b_secret_answer, name),
        JSON_WHOLE_MEMBER(e2b_secret_answer, version, .name = "currentVersion"),
        JSON_RAW_MEMBER(e2b_secret_answer, metadata),
        JSON_TIME_MEMBER(e2b_secret_answer, created_at, .name = "createdAt"),
        JSON_TIME_MEMBER(e2b_secret_answer, updated_at, .name = "updatedAt"),
};
static JSON_SHAPE(secret_shape, "E2bSecret", e2b_secret_answer, "A secret, without its value");

static struct e2b_secret_answer answer_of(struct arena *a, const struct vault_record *r)
{
	return (struct e2b_secret_answer){
	        .secret_id = arena_format(a, ID_MARK "%s", r->id),
	        .name = r->name,
	        .version = r->version,
	        .metadata = span_of(r->metadata_json),
	        .created_at = r->created_at,
	        .updated_at = r->updated_at,
	};
}

static void reply_secret(struct request *rq, struct reply *reply, const struct vault_record *r)
{
	const struct e2b_secret_answer out = answer_of(rq->arena, r);

	reply_json(reply, &secret_shape, &out);
}

static int read_name(struct arena *a, const char *text, const char **ret, struct error *err)
{
	char *name = arena_text(a, text);

	for (char *c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
			return FAIL(err, ERROR_INVALID,
			            "name: letters, digits, '_' and '-' are allowed");
		*c = (char)tolower((unsigned char)*c);
	}
	if (strncmp(name, ID_MARK, strlen(ID_MARK)) == 0)
		return FAIL(err, ERROR_INVALID, "name: '" ID_MARK "' begins an id");
	*ret = name;
	return 0;
}

static int read_metadata(struct arena *a, const struct json_map *map, const char **ret,
                         struct error *err)
{
	size_t bytes = 0;

	for (size_t i = 0; i < map->count; i++) {
		size_t key = strlen(map->pairs[i].key), value = strlen(map->pairs[i].value);

		bytes += key + value;
		if (key == 0 || key > METADATA_KEY_MAX || value > METADATA_VALUE_MAX)
			return FAIL(err, ERROR_INVALID,
			            "metadata: keys have 1 to %d bytes, values up to %d",
			            METADATA_KEY_MAX, METADATA_VALUE_MAX);
	}
	*ret = json_format_map(a, map);
	if (bytes > METADATA_MAX || strlen(*ret) > 2 * METADATA_MAX)
		return FAIL(err, ERROR_INVALID, "metadata: at most %d bytes", METADATA_MAX);
	return 0;
}

static int find_secret(struct request *rq, struct vault_record *ret, struct error *err)
{
	const char *text = request_param(rq, "id"), *name = text + strlen(ID_MARK);

	if (strncmp(text, ID_MARK, strlen(ID_MARK)) != 0 &&
	    read_name(rq->arena, text, &name, err) < 0)
		return -1;
	return store_vault_find(api_of(rq)->store, rq->arena, api_project(rq), name, ret, err);
}

static int create_secret(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct e2b_secret_body *b = body;
	struct id id = id_new();
	struct vault_record record = {
	        .id = id.text,
	        .project_id = api_project(rq),
	        .value = b->value,
	        .version = 1,
	        .created_at = clock_unix_ms(),
	};

	record.updated_at = record.created_at;
	if (read_name(rq->arena, b->name, &record.name, err) < 0 ||
	    read_metadata(rq->arena, &b->metadata, &record.metadata_json, err) < 0 ||
	    store_vault_insert(api_of(rq)->store, &record, err) < 0)
		return -1;
	reply_status(reply, 201);
	reply_secret(rq, reply, &record);
	return 0;
}

struct secrets_query {
	const char *next_token;
	int64_t limit;
};
static const struct json_member secrets_query_members[] = {
        JSON_TEXT_MEMBER(secrets_query, next_token, .name = "nextToken", .max = NAME_MAX_SIZE),
        JSON_WHOLE_MEMBER(secrets_query, limit, .min = 1, .max = E2B_PAGE_MAX),
};
static JSON_OPEN_SHAPE(secrets_query, "E2bSecretsQuery", secrets_query, "The secrets to list");

/* Sorted by name; a page starts after the last name of the previous one. All secrets are loaded,
 * because a project has few. */
static int list_secrets(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct secrets_query *q = rq->query;
	size_t limit = q->limit ? (size_t)q->limit : E2B_PAGE_MAX, first = 0, end;
	struct buf *out = reply_buf(reply, "application/json");
	struct vault_list found;

	if (store_vault_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	while (q->next_token && first < found.count &&
	       strcmp(found.items[first].name, q->next_token) <= 0)
		first++;
	end = found.count - first > limit ? first + limit : found.count;
	json_begin_list(out, NULL);
	for (size_t i = first; i < end; i++) {
		const struct e2b_secret_answer item = answer_of(rq->arena, &found.items[i]);

		json_add_struct(out, NULL, &secret_shape, &item);
	}
	json_end_list(out);
	if (end < found.count)
		reply_header(reply, "x-next-token", found.items[end - 1].name);
	return 0;
}

static int get_secret(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct vault_record record;

	if (find_secret(rq, &record, err) < 0)
		return -1;
	reply_secret(rq, reply, &record);
	return 0;
}

/* Metadata stay unless the body gives new ones. */
static int update_secret(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct e2b_secret_body *b = body;
	struct vault_record record;

	if (find_secret(rq, &record, err) < 0)
		return -1;
	record.value = b->value;
	record.updated_at = clock_unix_ms();
	if ((b->metadata.present &&
	     read_metadata(rq->arena, &b->metadata, &record.metadata_json, err) < 0) ||
	    store_vault_update(api_of(rq)->store, rq->arena, &record, &record, err) < 0)
		return -1;
	reply_secret(rq, reply, &record);
	return 0;
}

static int delete_secret(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct vault_record record;

	if (find_secret(rq, &record, err) < 0 ||
	    store_vault_remove(api_of(rq)->store, record.project_id, record.id, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define WRITE SCOPE_SANDBOX_WRITE
const struct route e2b_secrets_routes[] = {
        {HTTP_POST, "/secrets", WRITE, ROUTE_HIDDEN, .body = &secret_request, .status = 201,
         .handle = create_secret, E2B_ROW},
        {HTTP_GET, "/secrets", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &secrets_query,
         .handle = list_secrets, E2B_ROW},
        {HTTP_GET, "/secrets/:id", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .handle = get_secret, E2B_ROW},
        {HTTP_POST, "/secrets/:id", WRITE, ROUTE_HIDDEN, .body = &value_request,
         .handle = update_secret, E2B_ROW},
        {HTTP_DELETE, "/secrets/:id", WRITE, ROUTE_HIDDEN, .status = 204, .handle = delete_secret,
         E2B_ROW},
        {.path = NULL},
};
