/* SPDX-License-Identifier: Apache-2.0 */
#include "store/changes.h"

#include <stdio.h>
#include <string.h>

#include "json/write.h"
#include "store/change_rows.h"
#include "store/driver.h"

/* A query that changes one row, and how the row is found. QUERY_COUNT: the row is what the query
 * takes, because it inserts it. */
static const struct change_row {
	enum query_name change, find;
	const char *kind;
	const char *id; /* the member of what the query takes that names the row */
} change_rows[] = {
        {QUERY_PROJECT_INSERT, QUERY_COUNT, "project", "id"},
        {QUERY_PROJECT_UPDATE, QUERY_PROJECT_FIND, "project", "id"},
        {QUERY_PROJECT_CLOSE, QUERY_PROJECT_FIND, "project", "id"},
        {QUERY_KEY_INSERT, QUERY_COUNT, "key", "id"},
        {QUERY_KEY_REVOKE, QUERY_KEY_FIND, "key", "id"},
        {QUERY_KEY_RENEW, QUERY_KEY_FIND, "key", "id"},
        {QUERY_MEMBER_INSERT, QUERY_COUNT, "member", "user_id"},
        {QUERY_MEMBER_SET_ROLE, QUERY_MEMBER_FIND, "member", "user_id"},
        {QUERY_MEMBER_REMOVE, QUERY_MEMBER_FIND, "member", "user_id"},
        {QUERY_INVITATION_INSERT, QUERY_COUNT, "invitation", "id"},
        {QUERY_ORGANIZATION_INSERT, QUERY_COUNT, "organization", "id"},
        {QUERY_ORGANIZATION_RENAME, QUERY_ORGANIZATION_FIND, "organization", "id"},
        {QUERY_ORGANIZATION_REMOVE, QUERY_ORGANIZATION_FIND, "organization", "id"},
        {QUERY_ORGANIZATION_MEMBER_PUT, QUERY_ORGANIZATION_MEMBER_FIND, "organization_member",
         "user_id"},
        {QUERY_ORGANIZATION_MEMBER_REMOVE, QUERY_ORGANIZATION_MEMBER_FIND, "organization_member",
         "user_id"},
        {QUERY_USER_INSERT, QUERY_COUNT, "user", "id"},
        {QUERY_USER_UPDATE, QUERY_USER_FIND, "user", "id"},
        {QUERY_USER_REMOVE, QUERY_USER_FIND, "user", "id"},
        {QUERY_LOGIN_INSERT, QUERY_COUNT, "session", "id"},
        {QUERY_WEBHOOK_INSERT, QUERY_COUNT, "webhook", "id"},
        {QUERY_WEBHOOK_UPDATE, QUERY_WEBHOOK_FIND, "webhook", "id"},
        {QUERY_WEBHOOK_REMOVE, QUERY_WEBHOOK_FIND, "webhook", "id"},
        {QUERY_CHANNEL_INSERT, QUERY_COUNT, "channel", "name"},
        {QUERY_CHANNEL_UPDATE, QUERY_CHANNEL_FIND, "channel", "name"},
        {QUERY_CHANNEL_REMOVE, QUERY_CHANNEL_FIND, "channel", "name"},
        {QUERY_CONFIG_INSERT, QUERY_COUNT, "config", "id"},
        {QUERY_CONFIG_UPDATE, QUERY_CONFIG_FIND, "config", "id"},
        {QUERY_CONFIG_REMOVE, QUERY_CONFIG_FIND, "config", "id"},
        {QUERY_BUDGET_INSERT, QUERY_COUNT, "budget", "id"},
        {QUERY_BUDGET_UPDATE, QUERY_BUDGET_FIND, "budget", "id"},
        {QUERY_BUDGET_REMOVE, QUERY_BUDGET_FIND, "budget", "id"},
        {QUERY_DEPOSIT_INSERT, QUERY_COUNT, "deposit", "id"},
        {QUERY_QUOTA_PUT, QUERY_QUOTA_FIND, "quota", "name"},
        {QUERY_QUOTA_REMOVE, QUERY_QUOTA_FIND, "quota", "name"},
        {QUERY_VAULT_INSERT, QUERY_COUNT, "secret", "id"},
        {QUERY_VAULT_UPDATE, QUERY_VAULT_FIND, "secret", "id"},
        {QUERY_VAULT_DESCRIBE, QUERY_VAULT_FIND, "secret", "id"},
        {QUERY_VAULT_REMOVE, QUERY_VAULT_FIND, "secret", "id"},
        {QUERY_CREDENTIAL_INSERT, QUERY_COUNT, "credential", "id"},
        {QUERY_CREDENTIAL_UPDATE, QUERY_CREDENTIAL_FIND_BY_ID, "credential", "id"},
        {QUERY_CREDENTIAL_REMOVE, QUERY_CREDENTIAL_FIND_BY_ID, "credential", "id"},
        {QUERY_CONNECT_INSERT, QUERY_COUNT, "connect", "id"},
        {QUERY_CONNECT_REMOVE, QUERY_CONNECT_FIND_BY_ID, "connect", "id"},
        {QUERY_CONSENT_INSERT, QUERY_COUNT, "consent", "id"},
        {QUERY_CONSENT_REVOKE, QUERY_CONSENT_HOLDING, "consent", "credential_name"},
        {QUERY_SKILL_PUT, QUERY_SKILL_FIND, "skill", "name"},
        {QUERY_SKILL_REMOVE, QUERY_SKILL_FIND, "skill", "id"},
        {QUERY_TEMPLATE_INSERT, QUERY_COUNT, "template", "id"},
        {QUERY_TEMPLATE_UPDATE, QUERY_TEMPLATE_FIND, "template", "id"},
        {QUERY_TEMPLATE_REMOVE, QUERY_TEMPLATE_FIND, "template", "id"},
        {QUERY_VOLUME_INSERT, QUERY_COUNT, "volume", "id"},
        {QUERY_VOLUME_REMOVE, QUERY_VOLUME_FIND_BY_ID, "volume", "id"},
        {QUERY_SNAPSHOT_INSERT, QUERY_COUNT, "snapshot", "id"},
        {QUERY_SNAPSHOT_REMOVE, QUERY_SNAPSHOT_FIND, "snapshot", "id"},
        {QUERY_BACKUP_INSERT, QUERY_COUNT, "backup", "id"},
        {QUERY_BACKUP_REMOVE, QUERY_BACKUP_FIND, "backup", "id"},
        {QUERY_PROVIDER_PUT, QUERY_PROVIDER_FIND, "provider", "name"},
        {QUERY_PROVIDER_UPDATE, QUERY_PROVIDER_FIND, "provider", "name"},
        {QUERY_PROVIDER_REMOVE, QUERY_PROVIDER_FIND, "provider", "id"},
        {QUERY_ROUTING_SET, QUERY_ROUTING_FIND, "routing", NULL},
        {QUERY_SERVICE_INSERT, QUERY_COUNT, "service", "name"},
        {QUERY_SERVICE_UPDATE, QUERY_SERVICE_FIND, "service", "name"},
        {QUERY_SERVICE_REMOVE, QUERY_SERVICE_FIND, "service", "name"},
        {QUERY_SANDBOX_INSERT, QUERY_COUNT, "sandbox", "id"},
        {QUERY_SANDBOX_SET, QUERY_SANDBOX_FIND_BY_ID, "sandbox", "id"},
        {QUERY_SANDBOX_SET_RESOURCES, QUERY_SANDBOX_FIND_BY_ID, "sandbox", "id"},
        {QUERY_SANDBOX_SET_ENV, QUERY_SANDBOX_FIND_BY_ID, "sandbox", "id"},
        {QUERY_SANDBOX_SET_EGRESS, QUERY_SANDBOX_FIND_BY_ID, "sandbox", "id"},
        {QUERY_SANDBOX_SET_EGRESS_CUT, QUERY_SANDBOX_FIND_BY_ID, "sandbox", "id"},
        {QUERY_SANDBOX_SET_TIMEOUT, QUERY_SANDBOX_FIND_BY_ID, "sandbox", "id"},
        {QUERY_SANDBOX_KEEP, QUERY_SANDBOX_FIND_BY_ID, "sandbox", "id"},
        {QUERY_SANDBOX_SET_PREVIEW, QUERY_SANDBOX_FIND_BY_ID, "sandbox", "id"},
        {QUERY_APPROVAL_DECIDE, QUERY_APPROVAL_FIND, "approval", "id"},
        {QUERY_BUILD_INSERT, QUERY_COUNT, "build", "id"},
        {QUERY_ARTIFACT_INSERT, QUERY_COUNT, "artifact", "id"},
        {QUERY_ARTIFACT_REMOVE, QUERY_ARTIFACT_FIND, "artifact", "id"},
};

/* Members that hold secrets, or may. Members of the kinds SECRET and HASH are masked anyway. */
static const char *const masked_names[] = {
        "env_json",      "secrets_json", "secret_json", "state_hash", "settings", "password",
        "password_hash", "secret",       "token",       "value",      "prefix",   "hash",
        "code",          "arguments",    "body",        "command",    "link",     "url",
};
/* Members that change with every use, and tell nothing about what a caller did. */
static const char *const ignored_names[] = {
        "version",          "updated_at", "created_at", "last_used_at",
        "last_activity_at", "state_at",   "idle_since", "used_at",
};

static _Thread_local struct store_changes *collection;

void store_changes_done(struct store_changes *c)
{
	buf_done(&c->before);
	buf_done(&c->after);
}

void store_changes_collect(struct store_changes *c)
{
	collection = c;
}

struct store_changes *changes_current(void)
{
	return collection;
}

void changes_begin(struct store_changes *c)
{
	c->mark = (struct store_changes_mark){c->before.size, c->after.size, c->count, c->left_out,
	                                      .made_sandbox = c->made_sandbox};
	memcpy(c->mark.made, c->made, sizeof(c->made));
}

static void cut_buf(struct buf *b, size_t size)
{
	b->size = size;
	b->overflowed = false;
	if (b->data)
		b->data[size] = '\0';
}

void changes_rewind(struct store_changes *c)
{
	cut_buf(&c->before, c->mark.before);
	cut_buf(&c->after, c->mark.after);
	c->count = c->mark.count;
	c->left_out = c->mark.left_out;
	c->made_sandbox = c->mark.made_sandbox;
	memcpy(c->made, c->mark.made, sizeof(c->made));
}

static struct span as_object(const struct store_changes *c, const struct buf *members,
                             struct arena *a)
{
	const char *text;

	if (members->size == 0 && c->left_out == 0)
		return (struct span){NULL, 0};
	if (c->left_out == 0)
		text = arena_format(a, "{%s}", buf_text(members));
	else
		text = arena_format(a, "{%s%s\"rows_left_out\":%u}", buf_text(members),
		                    members->size ? "," : "", c->left_out);
	return span_of(text);
}

struct span store_changes_before(const struct store_changes *c, struct arena *a)
{
	return as_object(c, &c->before, a);
}

struct span store_changes_after(const struct store_changes *c, struct arena *a)
{
	return as_object(c, &c->after, a);
}

static const struct change_row *find_change(enum query_name query)
{
	for (size_t i = 0; i < COUNT_OF(change_rows); i++)
		if (change_rows[i].change == query)
			return &change_rows[i];
	return NULL;
}

bool changes_wants(enum query_name query)
{
	return find_change(query) != NULL;
}

static bool name_is_in(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static const struct column *column_named(const struct column *columns, const char *name)
{
	if (!name)
		return NULL;
	for (const struct column *c = columns; c && c->kind != COLUMN_END; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static size_t column_size(enum column_kind kind)
{
	return kind == COLUMN_HASH ? COLUMN_HASH_SIZE : sizeof(int64_t);
}

/* Bytes that hold all columns of a record. */
static size_t record_size(const struct column *columns)
{
	size_t size = sizeof(int64_t);

	for (const struct column *c = columns; c && c->kind != COLUMN_END; c++)
		if (c->offset + column_size(c->kind) > size)
			size = c->offset + column_size(c->kind);
	return (size + 15) / 16 * 16;
}

static const void *member_of(const struct column *c, const void *record)
{
	return (const char *)record + c->offset;
}

static const char *text_of(const struct column *c, const void *record)
{
	const char *const *text = member_of(c, record);

	return *text ? *text : "";
}

static bool is_text(enum column_kind kind)
{
	return kind == COLUMN_TEXT || kind == COLUMN_SECRET || kind == COLUMN_FILTER;
}

static bool is_same(const struct column *c, const void *a, const void *b)
{
	if (is_text(c->kind))
		return strcmp(text_of(c, a), text_of(c, b)) == 0;
	if (c->kind == COLUMN_BOOL)
		return *(const bool *)member_of(c, a) == *(const bool *)member_of(c, b);
	if (c->kind == COLUMN_CHOICE)
		return *(const unsigned *)member_of(c, a) == *(const unsigned *)member_of(c, b);
	return memcmp(member_of(c, a), member_of(c, b), column_size(c->kind)) == 0;
}

static bool is_masked(const struct column *c)
{
	if (c->kind == COLUMN_NUMBER)
		return false; /* a quantity, such as the value of a quota */
	return c->kind == COLUMN_SECRET || c->kind == COLUMN_HASH ||
	       name_is_in(masked_names, COUNT_OF(masked_names), c->name);
}

static void add_cut_text(struct buf *out, const char *name, const char *text)
{
	struct span cut = {text, strnlen(text, STORE_CHANGE_TEXT_MAX)};

	cut.size -= text[cut.size] ? span_begun(cut) : 0;
	json_add_span(out, name, cut);
}

static void add_member(struct buf *out, const struct column *c, const void *record)
{
	if (is_masked(c)) {
		bool is_empty = is_text(c->kind) &&
		                (!text_of(c, record)[0] || strcmp(text_of(c, record), "{}") == 0);

		json_add_text(out, c->name, is_empty ? "" : "set");
	} else if (is_text(c->kind)) {
		add_cut_text(out, c->name, text_of(c, record));
	} else if (c->kind == COLUMN_BOOL) {
		json_add_bool(out, c->name, *(const bool *)member_of(c, record));
	} else if (c->kind == COLUMN_CHOICE) {
		json_add_text(out, c->name, c->word(*(const unsigned *)member_of(c, record)));
	} else if (c->kind == COLUMN_NUMBER) {
		json_add_number(out, c->name, *(const double *)member_of(c, record));
	} else {
		json_add_whole(out, c->name, *(const int64_t *)member_of(c, record));
	}
}

/* Writes the members of `record` that differ from `other`; NULL = from an empty record, so what is
 * empty is left out. A changed secret is "set" on both sides. */
static void add_members(struct buf *out, const struct column *columns, const void *record,
                        const void *other)
{
	for (const struct column *c = columns; c && c->kind != COLUMN_END; c++)
		if (!name_is_in(ignored_names, COUNT_OF(ignored_names), c->name) &&
		    !is_same(c, record, other))
			add_member(out, c, record);
}

/* A row that is there before or after the change. */
struct row_side {
	const struct column *columns;
	const void *record; /* NULL: it is not there */
};

/* Where the members of one row go. */
struct change_target {
	struct store_changes *changes;
	const char *name;
	struct arena *arena;
};

static void add_side(const struct change_target *to, struct buf *all, const struct row_side *side,
                     const struct row_side *other)
{
	AUTO(buf_done) struct buf out = BUF(STORE_CHANGES_BYTES_MAX);
	const void *base = other->record;

	if (!side->record)
		return;
	if (!base || other->columns != side->columns)
		base = arena_alloc(to->arena, record_size(side->columns));
	json_begin_object(&out, to->name);
	add_members(&out, side->columns, side->record, base);
	json_end_object(&out);
	if (out.overflowed || all->size + out.size + 1 > all->size_max) {
		to->changes->left_out++;
		return;
	}
	if (all->size > 0)
		buf_add_byte(all, ',');
	buf_add_span(all, buf_span(&out));
}

static void add_change(struct store_changes *w, const char *name, const struct row_side *before,
                       const struct row_side *after, struct arena *a)
{
	const struct change_target to = {w, name, a};

	if (!before->record && !after->record)
		return;
	if (w->count == STORE_CHANGES_MAX) {
		w->left_out++;
		return;
	}
	w->count++;
	add_side(&to, &w->before, before, after);
	add_side(&to, &w->after, after, before);
}

/* What the find query takes, from the members of the same names; `id` names the row. */
static void *make_lookup(struct arena *a, const struct change_row *row, const void *takes)
{
	const struct column *from = store_queries[row->change].takes;
	const struct column *to = store_queries[row->find].takes, *source;
	char *lookup = arena_alloc(a, record_size(to));

	for (const struct column *c = to; c && c->kind != COLUMN_END; c++) {
		const char *name = strcmp(c->name, "id") == 0 ? row->id : c->name;

		source = column_named(from, name);
		if (source && column_size(source->kind) == column_size(c->kind))
			memcpy(lookup + c->offset, member_of(source, takes), column_size(c->kind));
	}
	return lookup;
}

static int find_side(struct store_connection *c, struct arena *a, const struct change_row *row,
                     const void *lookup, struct row_side *ret, struct error *err)
{
	const struct store_query *find = &store_queries[row->find];
	struct rows rows = {.arena = a, .size = record_size(find->gives)};

	*ret = (struct row_side){.columns = find->gives};
	if (c->store->driver->run(c, row->find, find->takes ? lookup : NULL, &rows, err) < 0)
		return -1;
	ret->record = rows.count > 0 ? rows.items : NULL;
	return 0;
}

/* A row of a query that both inserts and replaces was made if it was not there. */
static void note_made(struct store_changes *w, const struct change_row *row, const void *takes)
{
	const struct column *id = column_named(store_queries[row->change].takes, row->id);
	bool is_sandbox = strcmp(row->kind, "sandbox") == 0;

	if (!id || !is_text(id->kind) || (w->made[0] && (w->made_sandbox || !is_sandbox)))
		return;
	(void)snprintf(w->made, sizeof(w->made), "%s", text_of(id, takes));
	w->made_sandbox = is_sandbox;
}

static const char *name_of(struct arena *a, const struct change_row *row, const void *takes)
{
	const struct column *id = column_named(store_queries[row->change].takes, row->id);

	return id ? arena_format(a, "%s %.128s", row->kind, text_of(id, takes)) : row->kind;
}

int changes_run(struct store_connection *c, enum query_name query, const void *takes,
                struct rows *rows, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	const struct change_row *row = find_change(query);
	struct row_side before = {0}, after = {0};
	const void *lookup = NULL;
	int result;

	assert(row);
	if (row->find != QUERY_COUNT) {
		lookup = make_lookup(&a, row, takes);
		if (find_side(c, &a, row, lookup, &before, err) < 0)
			return -1;
	}
	result = c->store->driver->run(c, query, takes, rows, err);
	if (result < 0)
		return -1;
	if (row->find == QUERY_COUNT)
		after = (struct row_side){store_queries[query].takes, result > 0 ? takes : NULL};
	else if (find_side(c, &a, row, lookup, &after, err) < 0)
		return -1;
	if (!before.record && after.record)
		note_made(c->changes, row, takes);
	add_change(c->changes, name_of(&a, row, takes), &before, &after, &a);
	return result;
}
