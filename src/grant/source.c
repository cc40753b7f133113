/* SPDX-License-Identifier: Apache-2.0 */
/* What a name in a template stands for. Names of credentials have no '_', so a name that begins
 * with one of the words below is no credential's. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "grant/state.h"
#include "json/json.h"
#include "json/write.h"
#include "sandbox/credential.h"
#include "store/credentials.h"
#include "store/secrets.h"
#include "store/vault.h"

struct vault_hosts {
	const char *hosts; /* separated by commas */
};
static const struct json_member vault_hosts_members[] = {
        JSON_TEXT_MEMBER(vault_hosts, hosts, .flags = JSON_OMIT_EMPTY),
};
static JSON_OPEN_SHAPE(vault_hosts, "VaultHosts", vault_hosts, "Hosts of a secret");

/* The hosts that the secret names, as a credential has them; without any: the rule's. */
static const char *hosts_of(struct arena *a, const struct vault_record *r, const char *rule_host)
{
	struct error ignored = {0};
	struct vault_hosts given = {NULL};
	char *hosts;

	if (json_parse(a, span_of(r->metadata_json), &vault_hosts, &given, &ignored) < 0 ||
	    !given.hosts || !given.hosts[0])
		return rule_host;
	hosts = arena_text(a, given.hosts);
	for (char *c = hosts; *c; c++)
		if (*c == ',')
			*c = ' ';
	return hosts;
}

/* A secret of the vault has one field, and needs no consent. */
static int find_secret(struct grants *g, struct arena *a, const struct grant_name *name,
                       struct credential_record *ret, struct error *err)
{
	struct json_pair *pair = ARENA_NEW(a, struct json_pair);
	const struct json_map fields = {pair, 1, true};
	struct credential_field field = {GRANT_SECRET_FIELD, NULL};
	struct vault_record r;

	if (store_vault_find(g->options.store, a, name->project_id,
	                     name->text + strlen(GRANT_SECRET), &r, err) < 0 ||
	    store_secret_check(r.value, err) < 0)
		return -1;
	field.value = r.value;
	if (credential_fields_check(CREDENTIAL_CUSTOM, &field, 1, err) < 0)
		return FAIL_CONTEXT(err, "secret '%.64s' cannot be put into requests", r.name);
	*pair = (struct json_pair){GRANT_SECRET_FIELD, r.value};
	*ret = (struct credential_record){
	        .id = r.id,
	        .project_id = r.project_id,
	        .owner_id = "",
	        .name = name->text,
	        .preset = "",
	        .about = "",
	        .kind = CREDENTIAL_CUSTOM,
	        .consent = CREDENTIAL_CONSENT_PROJECT,
	        .hosts = hosts_of(a, &r, name->host),
	        .fields_json = json_format_map(a, &fields),
	        .field_names = GRANT_SECRET_FIELD,
	        .fingerprint = "",
	        .version = r.version,
	};
	return 0;
}

static int check_literals(struct arena *a, const struct grant_literals *wish,
                          struct json_map *ret_fields, const char **ret_names, struct error *err)
{
	struct credential_field fields[GRANT_KEEP_MAX];
	const char *names = "";

	*ret_fields =
	        (struct json_map){ARENA_ARRAY(a, struct json_pair, wish->count), wish->count, true};
	for (size_t i = 0; i < wish->count; i++) {
		const char *name = arena_format(a, "v%zu", i);

		fields[i] = (struct credential_field){name, wish->values[i]};
		ret_fields->pairs[i] = (struct json_pair){name, wish->values[i]};
		names = arena_format(a, "%s%s%s", names, i > 0 ? " " : "", name);
	}
	*ret_names = names;
	return credential_fields_check(CREDENTIAL_CUSTOM, fields, wish->count, err);
}

int grant_keep(struct grants *g, struct arena *a, const struct grant_literals *wish,
               const char **ret, struct error *err)
{
	const char *const hosts[] = {wish->host, NULL};
	const struct id id = id_new(), owner = id_new();
	struct json_map fields;
	struct credential_record r = {
	        .environment = "",
	        .id = id.text,
	        .project_id = wish->project_id,
	        .owner_id = owner.text,
	        .name = arena_format(a, GRANT_LITERAL "%s", owner.text),
	        .preset = "",
	        .about = "",
	        .kind = CREDENTIAL_CUSTOM,
	        .consent = CREDENTIAL_CONSENT_PROJECT,
	        .fingerprint = "",
	        .version = 1,
	        .revision = 1,
	        .created_at = clock_unix_ms(),
	};

	if (!g)
		return FAIL(err, ERROR_UNSUPPORTED, "this server has no credential proxy");
	r.updated_at = r.created_at;
	if (check_literals(a, wish, &fields, &r.field_names, err) < 0 ||
	    credential_hosts_format(a, CREDENTIAL_CUSTOM, hosts, &r.hosts, err) < 0)
		return -1;
	r.fields_json = json_format_map(a, &fields);
	if (store_credential_keep(g->options.store, &r, err) < 0)
		return -1;
	for (size_t i = 0; i < wish->count; i++)
		ret[i] = arena_format(a, "${credential.%s.v%zu}", r.name, i);
	return 0;
}

int grant_find(struct grants *g, struct arena *a, const struct grant_name *name,
               struct credential_record *ret, struct error *err)
{
	struct credential_ref ref = {name->project_id, name->user_id, name->text};

	if (strncmp(name->text, GRANT_SECRET, strlen(GRANT_SECRET)) == 0)
		return find_secret(g, a, name, ret, err);
	/* The owner is in the name. */
	if (strncmp(name->text, GRANT_LITERAL, strlen(GRANT_LITERAL)) == 0)
		ref.owner_id = name->text + strlen(GRANT_LITERAL);
	return store_credential_find(g->options.store, a, &ref, ret, err);
}
