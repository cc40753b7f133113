/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/credentials — credentials that network rules of sandboxes use. No answer has their values.
 *
 * A credential may get a host or a weaker consent only together with its values. So a caller who
 * does not know the values cannot direct them to a server of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "connect/preset.h"
#include "edge/api.h"
#include "json/write.h"
#include "sandbox/credential.h"
#include "store/credentials.h"
#include "surface/native/native.h"

#define BASE "/v1/credentials"
#define ABOUT_MAX 500
#define NAMES_MAX (CREDENTIAL_FIELD_COUNT_MAX * (CREDENTIAL_FIELD_NAME_MAX + 1))

/* The kinds that a caller can make: all but the last, oauth. */
static const char *const kinds[] = {"token", "basic", "aws", "custom", "client", NULL};
enum { OWNER_PROJECT, OWNER_USER };
static const char *const owners[] = {"project", "user", NULL};

struct credential_body {
	const char *name, *about, *preset;
	const char **hosts;
	struct json_map fields, environment;
	int kind, consent, owner;
	int64_t expires_at;
	uint64_t present;
};
enum credential_row {
	ROW_ABOUT,
	ROW_HOSTS,
	ROW_FIELDS,
	ROW_CONSENT,
	ROW_EXPIRES_AT,
	ROW_ENVIRONMENT,
	ROW_SHARED,
	ROW_KIND
};
#define SHARED_ROWS(needed, needed_hosts)                                                          \
	[ROW_ABOUT] = JSON_TEXT_MEMBER(credential_body, about, .max = ABOUT_MAX,                   \
	                               .about = "what it is for; people and agents see it"),       \
	[ROW_HOSTS] = JSON_TEXT_LIST_MEMBER(                                                       \
	        credential_body, hosts, .flags = (needed_hosts), .min = 1,                         \
	        .max = CREDENTIAL_HOSTS_MAX,                                                       \
	        .about = "host names that may get it; \"*.example.com\" is every name below; "     \
	                 "default: those of the preset",                                           \
	        .example = "[\"api.github.com\"]"),                                                \
	[ROW_FIELDS] = JSON_TEXT_MAP_MEMBER(                                                       \
	        credential_body, fields, .flags = (needed) | JSON_SECRET,                          \
	        .max = CREDENTIAL_FIELD_COUNT_MAX,                                                 \
	        .about = "its values, which no answer contains: token; username and password; "    \
	                 "access_key_id and secret_access_key; or any",                            \
	        .example = "{\"token\":\"…\"}"),                                                   \
	[ROW_CONSENT] = JSON_CHOICE_MEMBER(                                                        \
	        credential_body, consent, .choices = credential_consents,                          \
	        .about = "what a person has to allow it for: each conversation (default) or "      \
	                 "each sandbox; project: no person is asked"),                             \
	[ROW_EXPIRES_AT] = JSON_TIME_MEMBER(credential_body, expires_at, .flags = JSON_NULLABLE,   \
	                                    .about = "default: never"),                            \
	[ROW_ENVIRONMENT] = JSON_TEXT_MAP_MEMBER(                                                  \
	        credential_body, environment, .max = CREDENTIAL_VARIABLES_MAX,                     \
	        .about =                                                                           \
	                "for protocols that the proxy does not speak: variables of terminal "      \
	                "windows, and the field that each gets. Programs in the sandbox can read " \
	                "the values. Needs the consent conversation; {} = none (default)",         \
	        .example = "{\"PGPASSWORD\":\"password\"}")

static const struct json_member credential_request_members[] = {
        SHARED_ROWS(JSON_REQUIRED, 0),
        [ROW_SHARED] = JSON_TEXT_MEMBER(credential_body, name, .flags = JSON_REQUIRED, .min = 1,
                                        .max = CREDENTIAL_NAME_MAX,
                                        .about = "lower-case letters, digits and '-'; rules name "
                                                 "it: ${credential.NAME.FIELD}",
                                        .example = "github"),
        [ROW_KIND] = JSON_CHOICE_MEMBER(
                credential_body, kind, .choices = kinds,
                .about = "which fields it has (default: the preset's, or token)"),
        JSON_TEXT_MEMBER(credential_body, preset, .max = 64,
                         .about = "a service of /v1/credential-presets: kind and hosts, and rules "
                                  "for sandboxes (egress.credentials)",
                         .example = "github"),
        JSON_CHOICE_MEMBER(credential_body, owner, .choices = owners,
                           .about = "project (default; takes the scope project:write), or the "
                                    "caller's user, who alone sees it"),
};
static JSON_BITS_SHAPE(credential_request, "CredentialCreate", credential_body,
                       "A credential to store");
static const struct json_member credential_change_members[] = {SHARED_ROWS(0, 0)};
static JSON_BITS_SHAPE(credential_change, "CredentialChange", credential_body,
                       "Given members replace the stored ones; a further host and a weaker consent "
                       "take the fields again");

struct credential_answer {
	const char *id, *name, *about, *preset, *fingerprint, *state;
	const char **hosts, **field_names;
	struct json_map environment;
	int kind, consent, owner;
	int64_t version, expires_at, last_used_at, created_at, updated_at;
};
static const char *const states[] = {"ok", "expired", "needs_login", NULL};
static const struct json_member credential_shape_members[] = {
        JSON_TEXT_MEMBER(credential_answer, id),
        JSON_TEXT_MEMBER(credential_answer, name),
        JSON_CHOICE_MEMBER(credential_answer, kind, .choices = credential_kinds),
        JSON_TEXT_MEMBER(credential_answer, preset, .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(credential_answer, about),
        JSON_TEXT_LIST_MEMBER(credential_answer, hosts),
        JSON_TEXT_LIST_MEMBER(credential_answer, field_names, .about = "the fields that are set"),
        JSON_TEXT_MAP_MEMBER(credential_answer, environment,
                             .about = "variables of terminal windows, and the field of each"),
        JSON_CHOICE_MEMBER(credential_answer, owner, .choices = owners),
        JSON_CHOICE_MEMBER(credential_answer, consent, .choices = credential_consents),
        JSON_TEXT_MEMBER(credential_answer, state, .choices = states,
                         .about = "needs_login: its tokens cannot be renewed"),
        JSON_WHOLE_MEMBER(credential_answer, version, .about = "grows when the values change"),
        JSON_TEXT_MEMBER(credential_answer, fingerprint,
                         .about = "equal values have equal fingerprints; a value cannot be "
                                  "guessed from it"),
        JSON_TIME_MEMBER(credential_answer, expires_at, .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(credential_answer, last_used_at, .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(credential_answer, created_at),
        JSON_TIME_MEMBER(credential_answer, updated_at),
};
static JSON_SHAPE(credential_shape, "Credential", credential_answer,
                  "A credential, without its values");
static const struct json_member credential_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &credential_shape),
};
static JSON_SHAPE(credential_list_shape, "CredentialList", list_answer, "Credentials by name");

static const char *state_of(const struct credential_record *r)
{
	if (r->needs_login)
		return states[2];
	return r->expires_at && r->expires_at <= clock_unix_ms() ? states[1] : states[0];
}

static const char **split_names(struct arena *a, const char *text)
{
	const char **list = ARENA_ARRAY(a, const char *, CREDENTIAL_FIELD_COUNT_MAX + 1);
	struct span rest = span_of(text), name;
	size_t count = 0;

	while (rest.size > 0 && count < CREDENTIAL_FIELD_COUNT_MAX) {
		(void)span_split(&rest, ' ', &name);
		list[count++] = arena_copy(a, name);
	}
	list[count] = NULL;
	return list;
}

static struct json_map split_environment(struct arena *a, const char *text)
{
	struct json_map map = {ARENA_ARRAY(a, struct json_pair, CREDENTIAL_VARIABLES_MAX), 0, true};
	struct span rest = span_of(text), name, field;

	while (map.count < CREDENTIAL_VARIABLES_MAX &&
	       credential_environment_next(&rest, &name, &field))
		map.pairs[map.count++] =
		        (struct json_pair){arena_copy(a, name), arena_copy(a, field)};
	return map;
}

static void fill_credential_answer(struct arena *a, const struct credential_record *r,
                                   struct credential_answer *ret)
{
	*ret = (struct credential_answer){
	        .id = r->id,
	        .name = r->name,
	        .about = r->about,
	        .preset = text_or_null(r->preset),
	        .fingerprint = r->fingerprint,
	        .state = state_of(r),
	        .hosts = credential_hosts_split(a, r->hosts),
	        .field_names = split_names(a, r->field_names),
	        .environment = split_environment(a, r->environment),
	        .kind = (int)r->kind,
	        .consent = (int)r->consent,
	        .owner = r->owner_id[0] ? OWNER_USER : OWNER_PROJECT,
	        .version = r->version,
	        .expires_at = r->expires_at,
	        .last_used_at = r->last_used_at,
	        .created_at = r->created_at,
	        .updated_at = r->updated_at,
	};
}

static int reply_credential(struct request *rq, struct reply *reply,
                            const struct credential_record *r)
{
	struct credential_answer answer;

	fill_credential_answer(rq->arena, r, &answer);
	reply_json(reply, &credential_shape, &answer);
	return 0;
}

static int compare_pairs(const void *a, const void *b)
{
	return strcmp(((const struct json_pair *)a)->key, ((const struct json_pair *)b)->key);
}

/* Fields by name, so that equal ones have one fingerprint. */
static int write_fields(struct request *rq, const struct json_map *fields,
                        struct credential_record *r, struct error *err)
{
	AUTO(buf_done) struct buf names = BUF(NAMES_MAX);
	struct credential_field *list =
	        ARENA_ARRAY(rq->arena, struct credential_field, fields->count + 1);

	if (fields->count > 1)
		qsort(fields->pairs, fields->count, sizeof(*fields->pairs), compare_pairs);
	for (size_t i = 0; i < fields->count; i++)
		list[i] = (struct credential_field){fields->pairs[i].key, fields->pairs[i].value};
	if (credential_fields_check(r->kind, list, fields->count, err) < 0)
		return FAIL_CONTEXT(err, "fields");
	for (size_t i = 0; i < fields->count; i++)
		buf_addf(&names, "%s%s", i > 0 ? " " : "", list[i].name);
	r->fields_json = json_format_map(rq->arena, fields);
	r->field_names = arena_copy(rq->arena, buf_span(&names));
	r->version++;
	r->needs_login = false;
	return 0;
}

/* Fails when the change would send values that the caller did not give to a further host, or spare
 * a person's consent. */
static int refuse_widening(struct request *rq, const struct credential_body *b,
                           const struct credential_record *was, const struct credential_record *now,
                           struct error *err)
{
	const char **hosts = credential_hosts_split(rq->arena, now->hosts);

	if (!was->hosts || row_is_given(b->present, ROW_FIELDS))
		return 0;
	for (size_t i = 0; hosts[i]; i++)
		if (!credential_hosts_cover(was->hosts, span_of(hosts[i]))) {
			(void)FAIL(err, ERROR_FORBIDDEN, "'%.253s' is a further host", hosts[i]);
			return FAIL_HINT(err, "give the fields again, or make another credential");
		}
	if (now->consent <= was->consent)
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN, "the consent '%s' is weaker than '%s'",
	           credential_consents[now->consent], credential_consents[was->consent]);
	return FAIL_HINT(err, "give the fields again, or make another credential");
}

static struct credential_field *list_pairs(struct arena *a, const struct json_map *map)
{
	struct credential_field *list = ARENA_ARRAY(a, struct credential_field, map->count + 1);

	if (map->count > 1)
		qsort(map->pairs, map->count, sizeof(*map->pairs), compare_pairs);
	for (size_t i = 0; i < map->count; i++)
		list[i] = (struct credential_field){map->pairs[i].key, map->pairs[i].value};
	return list;
}

/* The fields of the record, as they will be stored. */
static int load_fields(struct arena *a, const struct credential_record *r, struct json_map *ret,
                       struct error *err)
{
	const struct json_value *object;

	if (json_load(a, span_of(r->fields_json), &object, err) < 0)
		return FAIL_CONTEXT(err, "credential '%s'", r->name);
	*ret = (struct json_map){ARENA_ARRAY(a, struct json_pair, json_count(object) + 1), 0, true};
	for (; ret->count < json_count(object); ret->count++)
		ret->pairs[ret->count].value = json_text(
		        json_member_at(object, ret->count, &ret->pairs[ret->count].key), "");
	return 0;
}

/* A window's programs can read the values: only a caller who knows them may say so, and only a
 * person's consent for one conversation gives them. Other variables are another version, for which
 * a person is asked again. */
static int apply_environment(struct request *rq, const struct credential_body *b,
                             struct credential_record *r, struct error *err)
{
	const char *was = r->environment ? r->environment : "";
	struct credential_environment wish = {.variable_count = 0};
	struct json_map variables = split_environment(rq->arena, was), fields;

	if (row_is_given(b->present, ROW_ENVIRONMENT))
		variables = b->environment;
	r->environment = "";
	if (variables.count > 0) {
		if (load_fields(rq->arena, r, &fields, err) < 0)
			return -1;
		wish = (struct credential_environment){
		        list_pairs(rq->arena, &variables), variables.count,
		        list_pairs(rq->arena, &fields), fields.count};
		if (credential_environment_format(rq->arena, &wish, &r->environment, err) < 0)
			return FAIL_CONTEXT(err, "environment");
		if (r->consent != CREDENTIAL_CONSENT_CONVERSATION || r->kind == CREDENTIAL_CLIENT ||
		    r->kind == CREDENTIAL_OAUTH)
			return FAIL(err, ERROR_INVALID,
			            "environment: only a credential with the consent "
			            "'conversation', of no kind 'client' or 'oauth', can be in "
			            "windows");
	}
	if (strcmp(was, r->environment) == 0 || row_is_given(b->present, ROW_FIELDS))
		return 0;
	r->version++;
	if (!r->environment[0])
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN, "other variables would show values to programs");
	return FAIL_HINT(err, "give the fields again, or make another credential");
}

/* Members that the caller gives replace those of the record. */
static int apply_members(struct request *rq, const struct credential_body *b,
                         struct credential_record *r, struct error *err)
{
	const struct credential_record was = *r;
	char fingerprint[CREDENTIAL_FINGERPRINT_SIZE + 1];

	r->updated_at = clock_unix_ms();
	if (row_is_given(b->present, ROW_ABOUT))
		r->about = b->about;
	if (row_is_given(b->present, ROW_CONSENT))
		r->consent = (enum credential_consent)b->consent;
	if (row_is_given(b->present, ROW_EXPIRES_AT))
		r->expires_at = b->expires_at;
	if (row_is_given(b->present, ROW_EXPIRES_AT) && b->expires_at &&
	    b->expires_at <= r->updated_at)
		return FAIL(err, ERROR_INVALID, "expires_at: has passed already");
	if (row_is_given(b->present, ROW_HOSTS) &&
	    credential_hosts_format(rq->arena, r->kind, (const char *const *)b->hosts, &r->hosts,
	                            err) < 0)
		return -1;
	if (refuse_widening(rq, b, &was, r, err) < 0)
		return -1;
	if (!row_is_given(b->present, ROW_FIELDS))
		return 0;
	if (write_fields(rq, &b->fields, r, err) < 0 ||
	    store_credential_fingerprint(api_of(rq)->store, r->project_id, r->fields_json,
	                                 fingerprint, err) < 0)
		return -1;
	r->fingerprint = arena_text(rq->arena, fingerprint);
	return 0;
}

static int apply_credential_body(struct request *rq, const struct credential_body *b,
                                 struct credential_record *r, struct error *err)
{
	return apply_members(rq, b, r, err) < 0 ? -1 : apply_environment(rq, b, r, err);
}

/* The project's credentials take a right on the project; a user's are the user's own. */
static int require_owner(struct request *rq, const struct credential_record *r, struct error *err)
{
	return r->owner_id[0] ? 0 : api_require(rq, SCOPE_PROJECT_WRITE, err);
}

static int find_credential(struct request *rq, struct credential_record *ret, struct error *err)
{
	const struct credential_ref ref = {api_project(rq), api_user_id(rq),
	                                   request_param(rq, "credential")};

	return store_credential_find(api_of(rq)->store, rq->arena, &ref, ret, err);
}

/* Kind and hosts that the caller does not give. */
static int apply_preset(struct request *rq, const struct credential_body *b,
                        struct credential_record *r, struct error *err)
{
	bool has_hosts = row_is_given(b->present, ROW_HOSTS);
	struct connect_preset preset;

	if (!text_or_null(b->preset))
		return has_hosts ? 0 : FAIL(err, ERROR_INVALID, "hosts: at least one is needed");
	if (connect_preset_find(rq->arena, b->preset, &preset, err) < 0)
		return -1;
	r->preset = preset.name;
	for (unsigned i = 0; !row_is_given(b->present, ROW_KIND) && credential_kinds[i]; i++)
		if (strcmp(credential_kinds[i], preset.kind) == 0)
			r->kind = (enum credential_kind)i;
	return has_hosts
	               ? 0
	               : credential_hosts_format(rq->arena, r->kind,
	                                         (const char *const *)preset.hosts, &r->hosts, err);
}

static int credential_create(struct request *rq, const void *body, struct reply *reply,
                             struct error *err)
{
	const struct credential_body *b = body;
	struct id id = id_new();
	struct credential_record r = {
	        .id = id.text,
	        .project_id = api_project(rq),
	        .owner_id = b->owner == OWNER_USER ? api_user_id(rq) : "",
	        .name = b->name,
	        .about = "",
	        .preset = "",
	        .kind = (enum credential_kind)b->kind,
	        .revision = 1,
	        .created_at = clock_unix_ms(),
	};

	if (b->owner == OWNER_USER && !api_user_id(rq)[0]) {
		(void)FAIL(err, ERROR_INVALID, "owner: this key belongs to no user");
		return FAIL_HINT(err,
		                 "sign in, use a key of a member, or store it for the project");
	}
	if (credential_name_check(b->name, err) < 0)
		return FAIL_CONTEXT(err, "name");
	if (require_owner(rq, &r, err) < 0 || apply_preset(rq, b, &r, err) < 0 ||
	    apply_credential_body(rq, b, &r, err) < 0 ||
	    store_credential_insert(api_of(rq)->store, &r, err) < 0)
		return -1;
	api_audit_subject(rq, r.name);
	reply_status(reply, 201);
	return reply_credential(rq, reply, &r);
}

static int credential_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	const struct credential_ref owner = {api_project(rq), api_user_id(rq), ""};
	struct credential_answer *items;
	struct credential_list found;

	if (store_credential_list(api_of(rq)->store, rq->arena, &owner, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct credential_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		fill_credential_answer(rq->arena, &found.items[i], &items[i]);
	reply_list(reply, &credential_list_shape, items, found.count);
	return 0;
}

static int credential_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	struct credential_record r;

	return find_credential(rq, &r, err) < 0 ? -1 : reply_credential(rq, reply, &r);
}

static int credential_patch(struct request *rq, const void *body, struct reply *reply,
                            struct error *err)
{
	struct credential_record r;

	if (find_credential(rq, &r, err) < 0 || require_owner(rq, &r, err) < 0 ||
	    apply_credential_body(rq, body, &r, err) < 0 ||
	    store_credential_update(api_of(rq)->store, rq->arena, &r, &r, err) < 0)
		return -1;
	return reply_credential(rq, reply, &r);
}

static int credential_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                             struct error *err)
{
	struct credential_record r;

	if (find_credential(rq, &r, err) < 0 || require_owner(rq, &r, err) < 0 ||
	    store_credential_remove(api_of(rq)->store, &r, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "credentials"
const struct route credentials_routes[] = {
        {HTTP_POST, BASE, SCOPE_SANDBOX_WRITE, .body = &credential_request,
         .answer = &credential_shape, .status = 201, .handle = credential_create, TAG,
         .summary = "Store a credential of the project or of the caller's user"},
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &credential_list_shape,
         .handle = credential_list, TAG,
         .summary = "List the credentials of the project and of the caller's user"},
        {HTTP_GET, BASE "/:credential", SCOPE_SANDBOX_READ, .answer = &credential_shape,
         .handle = credential_get, TAG, .summary = "Get a credential, without its values"},
        {HTTP_PATCH, BASE "/:credential", SCOPE_SANDBOX_WRITE, .body = &credential_change,
         .answer = &credential_shape, .handle = credential_patch, TAG,
         .summary = "Change a credential"},
        {HTTP_DELETE, BASE "/:credential", SCOPE_SANDBOX_WRITE, .status = 204,
         .handle = credential_delete, TAG, .summary = "Delete a credential"},
        {.path = NULL},
};
