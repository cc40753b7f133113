/* SPDX-License-Identifier: Apache-2.0 */
#include "store/secrets.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "seal/seal.h"
#include "store/driver.h"
#include "store/sandbox_record.h"
#include "store/column_rows.h"
#include "store/templates.h"

/* An encrypted value as the database stores it. */
struct secret_row {
	const char *id, *text;
};

struct secret_rows {
	const struct secret_row *items;
	size_t count;
};

struct secret_page {
	const char *id;      /* rows after this id */
	const char *pattern; /* values that match it are excluded */
	int64_t limit;
};

struct secret_swap {
	const char *id, *old, *text;
};

COLUMNS_OF(secret_row);
COLUMNS_OF(secret_page);
COLUMNS_OF(secret_swap);

/* Small, because a value has up to 1 MiB. */
#define PAGE_SIZE 20

void store_seal(struct store *s, struct seal *seal)
{
	s->seal = seal;
}

int store_secret_check(const char *text, struct error *err)
{
	if (!seal_is_sealed(text))
		return 0;
	(void)FAIL(err, ERROR_UNAVAILABLE,
	           "it is sealed with a key that this server does not have");
	return FAIL_HINT(err, "the file of secret_key_file is another than when it was written");
}

static const char *bound_of(struct arena *a, const struct column *column, const char *id)
{
	return arena_format(a, "%s:%s", column->binds, id);
}

static const char *owner_of(const struct column *column, const void *record)
{
	return *(const char *const *)(const void *)((const char *)record + column->owner);
}

const char *secret_close(const struct store *s, struct arena *a, const struct column *column,
                         const void *record)
{
	const char *text =
	        *(const char *const *)(const void *)((const char *)record + column->offset);

	if (!text)
		return "";
	/* A value that was read encrypted is written back unchanged. */
	if (!s->seal || !*text || strcmp(text, "{}") == 0 || seal_is_sealed(text))
		return text;
	return seal_close_text(s->seal, a, bound_of(a, column, owner_of(column, record)), text);
}

void secret_open(const struct store *s, struct arena *a, const struct column *column, void *record)
{
	const char **text = (const char **)(void *)((char *)record + column->offset);
	struct error err = {0};

	if (!s->seal || !seal_is_sealed(*text))
		return;
	arena_note_secret(a);
	if (seal_open_text(s->seal, a, bound_of(a, column, owner_of(column, record)), *text, text,
	                   &err) < 0)
		log_debug("a value stays sealed", TEXT("of", owner_of(column, record)),
		          FAILURE(&err));
}

/* Returns "" instead of an unencrypted text. */
static const char *close_env(const struct store *s, struct arena *a, const struct column *column,
                             size_t offset, const void *record)
{
	const char *text;

	while (column->offset != offset)
		column++;
	text = secret_close(s, a, column, record);
	return seal_is_sealed(text) || strcmp(text, "{}") == 0 ? text : "";
}

const char *store_sandbox_env_close(const struct store *s, struct arena *a, const char *sandbox_id,
                                    const char *env_json)
{
	const struct sandbox_record r = {.id = sandbox_id, .env_json = env_json};

	return close_env(s, a, columns_of_sandbox_record, offsetof(struct sandbox_record, env_json),
	                 &r);
}

const char *store_template_env_close(const struct store *s, struct arena *a,
                                     const char *template_id, const char *env_json)
{
	const struct template_record r = {.id = template_id, .env_json = env_json};

	return close_env(s, a, columns_of_template_record,
	                 offsetof(struct template_record, env_json), &r);
}

const char *store_secret_prefix(const struct store *s, struct arena *a)
{
	return s->seal ? seal_prefix(s->seal, a) : "";
}

/* All columns with secrets. */
static const struct drawer {
	enum query_name list, swap;
	const struct column *shape;
	const char *name;
} drawers[] = {
        {QUERY_SANDBOX_SECRETS, QUERY_SANDBOX_SECRET_SWAP, columns_of_sandbox_record, "env_json"},
        {QUERY_TEMPLATE_SECRETS, QUERY_TEMPLATE_SECRET_SWAP, columns_of_template_record,
         "env_json"},
        {QUERY_CONFIG_SECRETS, QUERY_CONFIG_SECRET_SWAP, columns_of_config_record, "env_json"},
        {QUERY_WEBHOOK_SECRETS, QUERY_WEBHOOK_SECRET_SWAP, columns_of_webhook_record, "secret"},
        {QUERY_CHANNEL_SECRETS, QUERY_CHANNEL_SECRET_SWAP, columns_of_channel_record, "token"},
        {QUERY_SERVER_KEY_SECRETS, QUERY_SERVER_KEY_SECRET_SWAP, columns_of_server_key, "secret"},
        {QUERY_LEASE_SECRETS, QUERY_LEASE_SECRET_SWAP, columns_of_lease_record, "env_json"},
        {QUERY_SERVICE_SECRETS, QUERY_SERVICE_SECRET_SWAP, columns_of_service_record, "env_json"},
        {QUERY_VAULT_SECRETS, QUERY_VAULT_SECRET_SWAP, columns_of_vault_record, "value"},
        {QUERY_PROVIDER_SECRETS, QUERY_PROVIDER_SECRET_SWAP, columns_of_provider_record,
         "secrets_json"},
        {QUERY_AUTHORITY_SECRETS, QUERY_AUTHORITY_SECRET_SWAP, columns_of_authority_record,
         "key_pem"},
        {QUERY_CONNECT_SECRETS, QUERY_CONNECT_SECRET_SWAP, columns_of_connect_record,
         "secret_json"},
        {QUERY_CREDENTIAL_SECRETS, QUERY_CREDENTIAL_SECRET_SWAP, columns_of_credential_record,
         "fields_json"},
};

struct reseal_page {
	const struct drawer *drawer;
	const struct column *column;
	struct arena *arena;
	struct secret_swap *swaps;
	size_t count;
};

static int run_page(struct store_connection *c, void *context, struct error *err)
{
	const struct reseal_page *page = context;

	for (size_t i = 0; i < page->count; i++)
		if (query_run(c, page->drawer->swap, &page->swaps[i], NULL, err) < 0)
			return -1;
	return 0;
}

/* Returns false when the value cannot be decrypted. */
static bool reseal_row(struct store *s, const struct reseal_page *page,
                       const struct secret_row *row, struct secret_swap *ret)
{
	const char *bound = bound_of(page->arena, page->column, row->id), *text = row->text;
	struct error err = {0};

	if (seal_is_sealed(text) &&
	    seal_open_text(s->seal, page->arena, bound, text, &text, &err) < 0) {
		log_warning("a value stays sealed", TEXT("of", bound), FAILURE(&err));
		return false;
	}
	*ret = (struct secret_swap){
	        .id = row->id,
	        .old = row->text,
	        .text = seal_close_text(s->seal, page->arena, bound, text),
	};
	return true;
}

struct counts {
	uint64_t resealed, shut;
};

/* Returns the number of rows; *after becomes the last row's id. */
static int reseal_page(struct store *s, struct reseal_page *page, struct secret_page *after,
                       struct counts *counts, struct error *err)
{
	struct secret_rows rows;

	after->pattern = arena_format(page->arena, "%s%%", seal_prefix(s->seal, page->arena));
	if (store_list_query(s, page->drawer->list, after, LIST_INTO(page->arena, &rows), err) < 0)
		return -1;
	page->swaps = ARENA_ARRAY(page->arena, struct secret_swap, rows.count + 1);
	page->count = 0;
	for (size_t i = 0; i < rows.count; i++) {
		if (reseal_row(s, page, &rows.items[i], &page->swaps[page->count]))
			page->count++;
		after->id = rows.items[i].id;
	}
	if (page->count > 0 && store_change(s, run_page, page, err) < 0)
		return -1;
	counts->resealed += page->count;
	counts->shut += rows.count - page->count;
	if (page->count > 0)
		fault_point("api", "rotate-page");
	return (int)rows.count;
}

static int reseal_drawer(struct store *s, const struct drawer *drawer, struct counts *counts,
                         struct error *err)
{
	AUTO(arena_done) struct arena arena = {0}, ids = {0};
	struct secret_page after = {.id = "", .limit = PAGE_SIZE};
	const struct column *column = drawer->shape;
	int count = PAGE_SIZE;

	while (strcmp(column->name, drawer->name) != 0)
		column++;
	while (count == PAGE_SIZE) {
		struct reseal_page page = {.drawer = drawer, .column = column, .arena = &arena};

		count = reseal_page(s, &page, &after, counts, err);
		after.id = arena_text(&ids, after.id);
		arena_reset(&arena);
	}
	return count < 0 ? -1 : 0;
}

int store_secrets_reseal(struct store *s, uint64_t *ret_resealed, uint64_t *ret_shut,
                         struct error *err)
{
	struct counts counts = {0};

	for (size_t i = 0; s->seal && i < COUNT_OF(drawers); i++)
		if (reseal_drawer(s, &drawers[i], &counts, err) < 0)
			return FAIL_CONTEXT(err, "seal values");
	*ret_resealed = counts.resealed;
	*ret_shut = counts.shut;
	return 0;
}

/* Fails when a value remains that only an older key could decrypt. */
static int reseal_secrets(struct store *s, uint64_t *ret_resealed, struct error *err)
{
	uint64_t shut;

	if (store_secrets_reseal(s, ret_resealed, &shut, err) < 0)
		return -1;
	if (shut == 0)
		return 0;
	(void)FAIL(err, ERROR_UNAVAILABLE, "%" PRIu64 " values are sealed with keys not known here",
	           shut);
	return FAIL_HINT(
	        err, "add their keys to the key file; all others are done, and no key was dropped");
}

static int rotate_keys(struct store *s, uint64_t *ret_resealed, struct error *err)
{
	uint64_t before;

	/* First finishes an interrupted rotation, so keys do not accumulate. */
	if (reseal_secrets(s, &before, err) < 0 || seal_drop_keys(s->seal, err) < 0 ||
	    seal_add_key(s->seal, err) < 0)
		return -1;
	fault_point("api", "rotate-key-added");
	if (reseal_secrets(s, ret_resealed, err) < 0)
		return -1;
	fault_point("api", "rotate-resealed");
	return seal_drop_keys(s->seal, err);
}

int store_secrets_rotate(struct store *s, uint64_t *ret_resealed, struct error *err)
{
	AUTO_CLOSE int rotation_fd = -1;

	if (!s->seal)
		return FAIL(err, ERROR_UNSUPPORTED, "this store seals nothing");
	if (seal_begin_rotation(s->seal, &rotation_fd, err) < 0 ||
	    rotate_keys(s, ret_resealed, err) < 0)
		return FAIL_CONTEXT(err, "rotate");
	return 0;
}
