/* SPDX-License-Identifier: Apache-2.0 */
/* Values of credentials in the environment of terminal windows: which ones a call's new window
 * gets, and who may use it. */
#include <string.h>

#include "base/clock.h"
#include "grant/state.h"
#include "json/json.h"
#include "sandbox/credential.h"
#include "store/approvals.h"
#include "store/consents.h"
#include "store/credentials.h"
#include "store/sandbox_record.h"
#include "store/secret_windows.h"
#include "store/secrets.h"

/* The key that asked for the consent; a key that guesses the conversation's id gets nothing. */
static bool is_asker(struct grants *g, struct arena *a, const struct grant_place *place,
                     const struct consent_record *consent)
{
	struct approval_record approval;
	struct error err = {0};

	return store_approval_find(g->options.store, a, place->sandbox->project_id,
	                           consent->approval_id, &approval, &err) == 0 &&
	       strcmp(approval.key_id, place->key_id) == 0;
}

static bool is_set(const struct grant_environment *e, const char *name)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < e->count; i++)
		if (strncmp(e->env[i], name, size) == 0 && e->env[i][size] == '=')
			return true;
	return false;
}

static int add_variables_of(struct arena *a, const struct credential_record *r,
                            struct grant_environment *e, struct error *err)
{
	struct span rest = span_of(r->environment), name, field;
	const struct json_value *fields;

	if (store_secret_check(r->fields_json, err) < 0 ||
	    json_load(a, span_of(r->fields_json), &fields, err) < 0)
		return FAIL_CONTEXT(err, "credential '%s'", r->name);
	while (e->count < GRANT_VARIABLES_MAX &&
	       credential_environment_next(&rest, &name, &field)) {
		const char *variable = arena_copy(a, name);
		const char *value = json_get_text(fields, arena_copy(a, field), "");

		if (*value && !is_set(e, variable))
			e->env[e->count++] = arena_format(a, "%s=%s", variable, value);
	}
	e->env[e->count] = NULL;
	return 0;
}

/* A credential that cannot be used gives nothing; only the store's failures are failures. */
static int add_consent(struct grants *g, struct arena *a, const struct grant_place *place,
                       const struct consent_record *consent, struct grant_environment *e,
                       struct error *err)
{
	const struct credential_ref ref = {place->sandbox->project_id, place->sandbox->user_id,
	                                   consent->credential_id};
	struct credential_record r;
	const char *why;

	if (strcmp(consent->conversation_id, place->conversation_id) != 0 ||
	    grant_environment_has(e, consent->credential_id) || !is_asker(g, a, place, consent))
		return 0;
	if (store_credential_find(g->options.store, a, &ref, &r, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	if (!r.environment[0] || r.version != consent->credential_version ||
	    strcmp(r.hosts, consent->hosts) != 0)
		return 0;
	if (grant_is_usable(g, a, place->sandbox->id, &r, &why, err) < 0)
		return -1;
	if (why)
		return 0;
	e->consents[e->consent_count] = consent->id;
	e->credentials[e->consent_count++] = r.id;
	return add_variables_of(a, &r, e, err);
}

int grant_environment_find(struct grants *g, struct arena *a, const struct grant_place *place,
                           struct grant_environment *ret, struct error *err)
{
	struct consent_list consents;

	*ret = (struct grant_environment){.count = 0};
	if (!g || !place->conversation_id || !place->conversation_id[0] || !place->key_id[0])
		return 0;
	if (store_consent_active(g->options.store, a, place->sandbox->id, clock_unix_ms(),
	                         &consents, err) < 0)
		return -1;
	for (size_t i = 0; i < consents.count && ret->consent_count < GRANT_VARIABLES_MAX; i++)
		if (add_consent(g, a, place, &consents.items[i], ret, err) < 0)
			return -1;
	return 0;
}

bool grant_environment_has(const struct grant_environment *e, const char *credential_id)
{
	for (size_t i = 0; i < e->consent_count; i++)
		if (strcmp(e->credentials[i], credential_id) == 0)
			return true;
	return false;
}

static int insert_rows(struct grants *g, const struct grant_place *place,
                       const struct grant_environment *e, const char *window, struct error *err)
{
	for (size_t i = 0; i < e->consent_count; i++) {
		const struct secret_window row = {
		        .sandbox_id = place->sandbox->id,
		        .name = window,
		        .consent_id = e->consents[i],
		        .conversation_id = place->conversation_id,
		        .key_id = place->key_id,
		        .created_at = clock_unix_ms(),
		};

		if (store_secret_window_insert(g->options.store, &row, err) < 0)
			return -1;
	}
	return 0;
}

static int fail_ended(const char *window, struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT,
	           "the consent to the credentials of window '%s' has ended, or they have changed",
	           window);
	return FAIL_HINT(err, "call again, with another window");
}

/* How many of the window's rows still hold. Fails when one does not. */
static int count_holding(struct grants *g, struct arena *a, const struct grant_place *place,
                         const char *window, size_t *ret_count, struct error *err)
{
	struct secret_window_list found;
	size_t count = 0;

	if (store_secret_window_list(g->options.store, a, place->sandbox->id, clock_unix_ms(),
	                             &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		if (strcmp(found.items[i].name, window) != 0)
			continue;
		if (!found.items[i].holding)
			return fail_ended(window, err);
		count++;
	}
	*ret_count = count;
	return 0;
}

int grant_keep_window(struct grants *g, const struct grant_place *place,
                      const struct grant_environment *e, const char *window, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	const struct secret_window earlier = {
	        .sandbox_id = place->sandbox->id, .name = window, .created_at = clock_unix_ms()};
	size_t holding;

	if (e->consent_count == 0)
		return 0;
	/* No window of this name runs: rows of an earlier window would end this one with the
	 * consents of that one, and keep its own conversation out. */
	if (store_secret_window_remove(g->options.store, &earlier, err) < 0 ||
	    insert_rows(g, place, e, window, err) < 0)
		return -1;
	/* What ends after this is ended by the thread of windows, which sees the rows. */
	if (count_holding(g, &a, place, window, &holding, err) < 0)
		return -1;
	return holding == e->consent_count ? 0 : fail_ended(window, err);
}

int grant_enter_window(struct grants *g, struct arena *a, const struct grant_place *place,
                       const char *window, struct error *err)
{
	struct secret_window_list found;

	if (!g)
		return 0;
	if (store_secret_window_list(g->options.store, a, place->sandbox->id, clock_unix_ms(),
	                             &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		const struct secret_window *w = &found.items[i];

		if (strcmp(w->name, window) != 0 ||
		    (place->conversation_id &&
		     strcmp(w->conversation_id, place->conversation_id) == 0 &&
		     strcmp(w->key_id, place->key_id) == 0))
			continue;
		(void)FAIL(err, ERROR_CONFLICT,
		           "window '%s' has credentials of another conversation", window);
		return FAIL_HINT(err, "use a window with another name");
	}
	return 0;
}

int grant_enter_secret_window(struct grants *g, struct arena *a, const struct grant_place *place,
                              const char *window, struct error *err)
{
	size_t holding = 0;

	if (grant_enter_window(g, a, place, window, err) < 0 ||
	    (g && count_holding(g, a, place, window, &holding, err) < 0))
		return -1;
	if (holding > 0)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "it is not known whose credentials window '%s' has",
	           window);
	return FAIL_HINT(err, "use a window with another name");
}
