/* SPDX-License-Identifier: Apache-2.0 */
/* Values that rest encrypted: on every store. */
#include "each_store.h"

#include "seal/seal.h"
#include "store/access.h"
#include "store/connects.h"
#include "store/consents.h"
#include "store/events.h"
#include "store/credentials.h"
#include "store/driver.h"
#include "store/leases.h"
#include "store/members.h"
#include "store/secrets.h"
#include "store/vault.h"
#include "store/webhooks.h"
#include "store/configs.h"
#include "store/templates.h"

#define ENV "{\"TOKEN\":\"hunter2\"}"

static char key_folder[64], key_file[96];

static struct seal *open_seal(void)
{
	struct error err = {0};
	struct seal *seal = NULL;

	assert_done(seal_open(key_file, &seal, &err));
	return seal;
}

static struct id insert_with(struct store *s, const char *env_json)
{
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, id.text);

	r.env_json = env_json;
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	return id;
}

/* As it is in the database. */
/* Whether the text is sealed with the current key. */
static bool is_current(struct seal *seal, const char *text)
{
	AUTO(arena_done) struct arena a = {0};
	const char *prefix = seal_prefix(seal, &a);

	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *resting(struct store *s, struct arena *a, const char *id)
{
	struct seal *seal = s->seal;
	struct sandbox_record r;
	struct error err = {0};

	store_seal(s, NULL);
	assert_done(store_sandbox_find(s, a, NULL, id, &r, &err));
	store_seal(s, seal);
	return r.env_json;
}

static const char *read_env(struct store *s, struct arena *a, const char *id)
{
	struct sandbox_record r;
	struct error err = {0};

	assert_done(store_sandbox_find(s, a, NULL, id, &r, &err));
	return r.env_json;
}

static void an_environment_rests_sealed_and_is_read_in_plain(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	struct error err = {0};
	struct sandbox_filter filter = {.state = -1, .limit = 10};
	struct sandbox_list list;
	struct sandbox_record moved;
	struct id id;

	store_seal(s, seal);
	id = insert_with(s, ENV);
	assert_true(seal_is_sealed(resting(s, &a, id.text)));
	assert_null(strstr(resting(s, &a, id.text), "hunter2"));
	assert_string_equal(read_env(s, &a, id.text), ENV);
	assert_done(store_sandbox_list(s, &a, &filter, &list, &err));
	assert_string_equal(list.items[0].env_json, ENV);
	struct sandbox_move move = sample_move(id.text, SANDBOX_PENDING, SANDBOX_CREATING);
	assert_done(store_sandbox_move_read(s, &a, &move, &moved, &err));
	assert_string_equal(moved.env_json, ENV);
	seal_close(seal);
}

static void an_empty_environment_is_not_sealed(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();

	store_seal(s, seal);
	assert_string_equal(resting(s, &a, insert_with(s, "{}").text), "{}");
	assert_string_equal(resting(s, &a, insert_with(s, NULL).text), "{}");
	seal_close(seal);
}

static void a_template_s_environment_rests_sealed(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	struct error err = {0};
	struct template_record t = sample_template("tttttttttttttttttttt", PROJECT, "mine");

	store_seal(s, seal);
	t.env_json = ENV;
	assert_done(store_template_insert(s, &t, &err));
	assert_done(store_template_find(s, &a, PROJECT, "mine", &t, &err));
	assert_string_equal(t.env_json, ENV);
	t.env_json = "{\"OTHER\":\"2\"}";
	assert_done(store_template_update(s, &t, &err));
	store_seal(s, NULL);
	assert_done(store_template_find(s, &a, PROJECT, "mine", &t, &err));
	assert_true(seal_is_sealed(t.env_json));
	seal_close(seal);
}

static void a_config_s_environment_rests_sealed_and_is_changed(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	struct error err = {0};
	struct config_record r = {.id = "cccccccccccccccccccc",
	                          .project_id = PROJECT,
	                          .name = "mine",
	                          .config_json = "{}",
	                          .env_json = ENV,
	                          .updated_at = 1};

	store_seal(s, seal);
	assert_done(store_config_insert(s, &r, &err));
	assert_done(store_config_find(s, &a, PROJECT, "mine", &r, &err));
	assert_string_equal(r.env_json, ENV);
	r.env_json = "{\"OTHER\":\"2\"}";
	r.updated_at = 2;
	assert_done(store_config_update(s, &r, 1, &err));
	assert_done(store_config_find(s, &a, PROJECT, "mine", &r, &err));
	assert_string_equal(r.env_json, "{\"OTHER\":\"2\"}");
	store_seal(s, NULL);
	assert_done(store_config_find(s, &a, PROJECT, "mine", &r, &err));
	assert_true(seal_is_sealed(r.env_json));
	seal_close(seal);
}

static void a_lease_s_environment_rests_sealed_and_is_rotated(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	struct error err = {0};
	const struct lease_ref ref = {PROJECT, "user:1/a"};
	struct lease_record lease = {.project_id = PROJECT,
	                             .key = ref.key,
	                             .name = PROJECT "/user:1/a",
	                             .sandbox_id = "llllllllllllllllllll",
	                             .status = LEASE_CREATING,
	                             .spec_json = "{}",
	                             .env_json = ENV};
	uint64_t resealed;

	store_seal(s, seal);
	assert_done(store_lease_insert(s, &lease, &err));
	assert_done(store_secrets_rotate(s, &resealed, &err));
	assert_int_equal(resealed, 2);
	assert_done(store_lease_find(s, &a, &ref, &lease, &err));
	assert_string_equal(lease.env_json, ENV);
	assert_done(store_lease_replace(s, &lease, &err));
	store_seal(s, NULL);
	assert_done(store_lease_find(s, &a, &ref, &lease, &err));
	assert_true(seal_is_sealed(lease.env_json));
	seal_close(seal);
}

static void a_webhook_s_secret_rests_sealed_and_is_rotated(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	struct error err = {0};
	struct webhook_record w = {.id = "wwwwwwwwwwwwwwwwwwww",
	                           .project_id = PROJECT,
	                           .url = "https://example.com",
	                           .secret = "whsec_hunter2",
	                           .patterns = "*"};
	uint64_t resealed;

	store_seal(s, seal);
	assert_done(store_webhook_insert(s, &w, 10, &err));
	assert_done(store_secrets_rotate(s, &resealed, &err));
	assert_int_equal(resealed, 2);
	assert_done(store_webhook_find(s, &a, PROJECT, w.id, &w, &err));
	assert_string_equal(w.secret, "whsec_hunter2");
	store_seal(s, NULL);
	assert_done(store_webhook_find(s, &a, PROJECT, w.id, &w, &err));
	assert_true(seal_is_sealed(w.secret));
	seal_close(seal);
}

static void a_value_of_an_unknown_key_stays_sealed_and_is_kept_as_it_is(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	struct error err = {0};
	struct template_record t = sample_template("tttttttttttttttttttt", PROJECT, "mine");
	uint64_t resealed, shut;
	const char *before;

	store_seal(s, seal);
	t.env_json = ENV;
	assert_done(store_template_insert(s, &t, &err));
	seal_close(seal);
	assert_int_equal(unlink(key_file), 0);
	seal = open_seal(); /* another key */
	store_seal(s, seal);
	assert_done(store_template_find(s, &a, PROJECT, "mine", &t, &err));
	assert_refused(store_secret_check(t.env_json, &err), ERROR_UNAVAILABLE);
	before = t.env_json;
	assert_done(store_template_update(s, &t, &err));
	assert_done(store_template_find(s, &a, PROJECT, "mine", &t, &err));
	assert_string_equal(t.env_json, before);
	assert_done(store_secrets_reseal(s, &resealed, &shut, &err));
	assert_int_equal(shut, 1);
	assert_refused(store_secrets_rotate(s, &resealed, &err), ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "1 values"));
	assert_done(store_template_find(s, &a, PROJECT, "mine", &t, &err));
	assert_string_equal(t.env_json, before);
	seal_close(seal);
}

#define MANY 120

static void plain_rows_of_earlier_versions_are_sealed(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	struct error err = {0};
	struct id ids[MANY];
	uint64_t resealed, shut;

	for (unsigned i = 0; i < MANY; i++)
		ids[i] = insert_with(s, ENV);
	(void)insert_with(s, "{}");
	store_seal(s, seal);
	assert_string_equal(read_env(s, &a, ids[0].text), ENV);
	assert_done(store_secrets_reseal(s, &resealed, &shut, &err));
	/* The sample template has one, too. */
	assert_int_equal(resealed, MANY + 1);
	assert_int_equal(shut, 0);
	for (unsigned i = 0; i < MANY; i++) {
		assert_true(is_current(seal, resting(s, &a, ids[i].text)));
		assert_string_equal(read_env(s, &a, ids[i].text), ENV);
	}
	assert_done(store_secrets_reseal(s, &resealed, &shut, &err));
	assert_int_equal(resealed, 0);
	seal_close(seal);
}

static void a_rotation_brings_all_under_a_new_key(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	struct error err = {0};
	struct id ids[MANY];
	uint64_t resealed;

	store_seal(s, seal);
	for (unsigned i = 0; i < MANY; i++)
		ids[i] = insert_with(s, ENV);
	/* More often than there is room for keys: old ones go. */
	for (unsigned round = 0; round < 10; round++) {
		const char *before = resting(s, &a, ids[0].text);

		assert_done(store_secrets_rotate(s, &resealed, &err));
		assert_int_equal(resealed, MANY + 1);
		assert_false(is_current(seal, before));
		assert_true(is_current(seal, resting(s, &a, ids[0].text)));
	}
	/* The file opens everything for a server that starts now. */
	seal_close(seal);
	seal = open_seal();
	store_seal(s, seal);
	for (unsigned i = 0; i < MANY; i++)
		assert_string_equal(read_env(s, &a, ids[i].text), ENV);
	seal_close(seal);
}

static void a_server_key_is_made_once_and_outlives_a_rotation(void **state)
{
	struct store *s = *state;
	struct seal *seal = open_seal();
	unsigned char first[STORE_SERVER_KEY_SIZE], again[STORE_SERVER_KEY_SIZE],
	        other[STORE_SERVER_KEY_SIZE];
	struct error err = {0};
	uint64_t resealed;

	store_seal(s, seal);
	assert_done(store_server_key(s, "access", first, &err));
	assert_done(store_server_key(s, "access", again, &err));
	assert_memory_equal(first, again, sizeof(first));
	assert_done(store_server_key(s, "another", other, &err));
	assert_memory_not_equal(first, other, sizeof(first));
	assert_done(store_secrets_rotate(s, &resealed, &err));
	assert_int_equal(resealed, 3); /* there is a template's environment, too */
	assert_done(store_server_key(s, "access", again, &err));
	assert_memory_equal(first, again, sizeof(first));
	store_seal(s, NULL);
	assert_refused(store_server_key(s, "access", again, &err), ERROR_UNAVAILABLE);
	seal_close(seal);
}

static void a_named_secret_rests_sealed_and_has_versions(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	struct id id = id_new(), second = id_new();
	struct vault_record r = {.id = id.text,
	                         .project_id = PROJECT,
	                         .name = "token",
	                         .value = "hunter2",
	                         .metadata_json = "{\"a\":\"b\"}",
	                         .created_at = NOW,
	                         .updated_at = NOW},
	                    other = r, found;
	struct vault_list list;
	struct error err = {0};
	uint64_t resealed;

	other.id = second.text;
	store_seal(s, seal);
	assert_done(store_vault_insert(s, &r, &err));
	assert_refused(store_vault_insert(s, &other, &err), ERROR_CONFLICT);
	assert_done(store_vault_find(s, &a, PROJECT, "token", &found, &err));
	assert_string_equal(found.value, "hunter2");
	assert_int_equal(found.version, 1);
	store_seal(s, NULL);
	assert_done(store_vault_find(s, &a, PROJECT, id.text, &found, &err));
	assert_true(seal_is_sealed(found.value));
	store_seal(s, seal);
	assert_done(store_secrets_rotate(s, &resealed, &err));
	r.value = "hunter3";
	assert_done(store_vault_update(s, &a, &r, &found, &err));
	assert_string_equal(found.value, "hunter3");
	assert_int_equal(found.version, 2);
	/* As who has read it before that would describe it. */
	r.value = "hunter2";
	r.metadata_json = "{\"c\":\"d\"}";
	r.updated_at = NOW + 1;
	assert_done(store_vault_describe(s, &a, &r, &found, &err));
	assert_string_equal(found.value, "hunter3");
	assert_string_equal(found.metadata_json, r.metadata_json);
	assert_int_equal(found.version, 2);
	assert_int_equal(found.updated_at, NOW + 1);
	assert_refused(store_vault_describe(s, &a, &other, &found, &err), ERROR_NOT_FOUND);
	assert_done(store_vault_list(s, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 1);
	assert_refused(store_vault_find(s, &a, "another", "token", &found, &err), ERROR_NOT_FOUND);
	assert_refused(store_vault_update(s, &a, &other, &found, &err), ERROR_NOT_FOUND);
	assert_done(store_vault_remove(s, PROJECT, "token", &err));
	assert_refused(store_vault_remove(s, PROJECT, "token", &err), ERROR_NOT_FOUND);
	seal_close(seal);
}

static struct credential_record sample_credential(const char *id, const char *owner)
{
	return (struct credential_record){
	        .id = id,
	        .project_id = PROJECT,
	        .owner_id = owner,
	        .name = "github",
	        .preset = "",
	        .about = "",
	        .hosts = "api.example.com",
	        .environment = "",
	        .fields_json = "{\"token\":\"hunter2\"}",
	        .field_names = "token",
	        .fingerprint = "01234567",
	        .created_at = NOW,
	        .updated_at = NOW,
	};
}

static void a_credential_rests_sealed_and_is_rotated(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	const struct credential_ref ref = {PROJECT, "", "github"};
	struct credential_record r = sample_credential("credentialcredential", ""), found;
	struct credential_list list;
	struct error err = {0};
	uint64_t resealed;

	store_seal(s, seal);
	assert_done(store_credential_insert(s, &r, &err));
	assert_done(store_secrets_rotate(s, &resealed, &err));
	assert_int_equal(resealed, 2); /* there is a template's environment, too */
	assert_done(store_credential_find(s, &a, &ref, &found, &err));
	assert_string_equal(found.fields_json, r.fields_json);
	found.hosts = "other.example.com";
	found.version = 2;
	assert_done(store_credential_update(s, &a, &found, &r, &err));
	assert_int_equal(r.revision, 2);
	assert_string_equal(r.fields_json, "{\"token\":\"hunter2\"}");
	/* A change that has read the row before the other one is refused. */
	assert_refused(store_credential_update(s, &a, &found, &r, &err), ERROR_CONFLICT);
	assert_done(store_credential_list(s, &a, &ref, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].fields_json, "");
	assert_string_equal(list.items[0].field_names, "token");
	store_seal(s, NULL);
	assert_done(store_credential_find(s, &a, &ref, &found, &err));
	assert_true(seal_is_sealed(found.fields_json));
	seal_close(seal);
}

/* As long as a sandbox's rules name it, and for no list of credentials. */
static void a_kept_value_lasts_while_rules_name_it(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct credential_record r = sample_credential("keptkeptkeptkeptkept",
	                                               "ownerownerownerowner"),
	                         found;
	const struct credential_ref ref = {PROJECT, r.owner_id, "literal_ownerownerownerowner"},
	                            all = {PROJECT, "", ""};
	const struct sandbox_egress_change rules = {
	        .egress = "", .rules_json = "${credential.literal_ownerownerownerowner.v0}"};
	const struct id id = id_new();
	struct sandbox_record sandbox = sample_sandbox(id.text, id.text);
	struct sandbox_egress_change named = rules, unnamed = {.egress = "", .rules_json = "other"};
	struct credential_list list;
	struct error err = {0};

	r.name = ref.name;
	named.id = unnamed.id = sandbox.id;
	assert_done(store_sandbox_insert(s, &sandbox, 0, &err));
	assert_done(store_sandbox_set_egress(s, &a, &named, &sandbox, &err));
	assert_done(store_credential_keep(s, &r, &err));
	assert_done(store_credential_list(s, &a, &all, &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_credential_purge_kept(s, NOW + 1, &err));
	assert_done(store_credential_find(s, &a, &ref, &found, &err));
	assert_done(store_sandbox_set_egress(s, &a, &unnamed, &sandbox, &err));
	assert_done(store_credential_purge_kept(s, NOW, &err));
	assert_done(store_credential_find(s, &a, &ref, &found, &err));
	assert_done(store_credential_purge_kept(s, NOW + 1, &err));
	assert_refused(store_credential_find(s, &a, &ref, &found, &err), ERROR_NOT_FOUND);
}

static void a_user_s_credential_is_the_user_s_alone(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	const struct credential_ref anna = {PROJECT, "anna", "github"},
	                            bert = {PROJECT, "bert", "github"};
	struct credential_record shared = sample_credential("sharedsharedsharedsh", ""),
	                         own = sample_credential("ownownownownownownow", "anna"), found;
	const struct member_record admin = {
	        .project_id = PROJECT, .user_id = "boss", .role = "admin"};
	const struct member_record member = {.project_id = PROJECT,
	                                     .user_id = "anna",
	                                     .role = "member",
	                                     .created_at = NOW,
	                                     .updated_at = NOW};
	struct credential_list list;
	struct error err = {0};

	assert_done(store_member_insert(s, &admin, &err));
	assert_done(store_member_insert(s, &member, &err));
	assert_done(store_credential_insert(s, &own, &err));
	assert_refused(store_credential_find(s, &a, &bert, &found, &err), ERROR_NOT_FOUND);
	assert_done(store_credential_insert(s, &shared, &err));
	assert_refused(store_credential_insert(s, &own, &err), ERROR_CONFLICT);
	assert_done(store_credential_find(s, &a, &anna, &found, &err));
	assert_string_equal(found.id, own.id);
	assert_done(store_credential_find(s, &a, &bert, &found, &err));
	assert_string_equal(found.id, shared.id);
	assert_done(store_credential_list(s, &a, &anna, &list, &err));
	assert_int_equal(list.count, 2);
	/* It goes with the membership. */
	assert_done(store_member_remove(s, PROJECT, "anna", NOW, &err));
	assert_done(store_credential_list(s, &a, &anna, &list, &err));
	assert_int_equal(list.count, 1);
	assert_done(store_credential_remove(s, &shared, &err));
	assert_refused(store_credential_remove(s, &shared, &err), ERROR_NOT_FOUND);
}

static struct connect_record sample_connect(const char *id)
{
	return (struct connect_record){
	        .id = id,
	        .project_id = PROJECT,
	        .owner_id = "",
	        .name = "github",
	        .preset = "",
	        .problem = "",
	        .scopes = "",
	        .request_json = "{}",
	        .service_json = "{}",
	        .secret_json = "{\"refresh_token\":\"hunter2\"}",
	        .state_hash = id,
	        .credential_id = "",
	        .due_at = NOW,
	        .expires_at = NOW,
	        .created_at = NOW,
	        .updated_at = NOW,
	};
}

static void a_connect_rests_sealed_and_ends_with_its_credential(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	const struct connect_ref ref = {PROJECT, "", "connectconnectconnec"};
	struct credential_record credential = sample_credential("credentialcredential", "");
	struct connect_record r = sample_connect(ref.id), other = sample_connect("other"), found;
	struct connect_list due;
	struct error err = {0};
	uint64_t resealed;

	store_seal(s, seal);
	assert_done(store_connect_insert(s, &r, &err));
	assert_done(store_connect_insert(s, &other, &err));
	assert_done(store_secrets_rotate(s, &resealed, &err));
	assert_int_equal(resealed, 3); /* there is a template's environment, too */
	assert_done(store_connect_find_by_state(s, &a, r.state_hash, &found, &err));
	assert_string_equal(found.secret_json, r.secret_json);
	assert_refused(store_connect_find_by_state(s, &a, "", &found, &err), ERROR_NOT_FOUND);
	/* A claim hides it from other servers, and a second one fails. */
	assert_done(store_connect_due(s, &a, NOW, &due, &err));
	assert_int_equal(due.count, 2);
	found = r;
	r.claimed_until = NOW + 1;
	assert_done(store_connect_update(s, &r, &err));
	assert_refused(store_connect_update(s, &found, &err), ERROR_CONFLICT);
	assert_done(store_connect_due(s, &a, NOW, &due, &err));
	assert_int_equal(due.count, 1);
	/* The credential is made with it; another connect of it ends. */
	credential.revision = 0;
	r.credential_id = other.credential_id = credential.id;
	assert_done(store_connect_update(s, &other, &err));
	assert_done(store_connect_finish(s, &r, &credential, &err));
	assert_done(store_connect_list(s, &a, &ref, &due, &err));
	assert_int_equal(due.count, 1);
	assert_done(store_connect_remove(s, &r, &err));
	assert_refused(store_credential_remove(s, &credential, &err), ERROR_NOT_FOUND);
	store_seal(s, NULL);
	seal_close(seal);
}

static void an_authority_s_key_rests_sealed(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct seal *seal = open_seal();
	struct authority_record r = {.id = "sandbox",
	                             .certificate = "cert",
	                             .key_pem = "hunter2",
	                             .expires_at = NOW,
	                             .created_at = NOW},
	                        found;
	struct error err = {0};
	uint64_t resealed;
	bool is_found;

	store_seal(s, seal);
	assert_done(store_authority_put(s, &r, &err));
	r.certificate = "another";
	assert_done(store_authority_put(s, &r, &err));
	assert_done(store_secrets_rotate(s, &resealed, &err));
	assert_int_equal(resealed, 2); /* there is a template's environment, too */
	assert_done(store_authority_find(s, &a, "sandbox", &found, &is_found, &err));
	assert_true(is_found);
	assert_string_equal(found.key_pem, "hunter2");
	assert_string_equal(found.certificate, "another");
	assert_done(store_authority_find(s, &a, "none", &found, &is_found, &err));
	assert_false(is_found);
	store_seal(s, NULL);
	assert_done(store_authority_find(s, &a, "sandbox", &found, &is_found, &err));
	assert_true(seal_is_sealed(found.key_pem));
	seal_close(seal);
}

static void a_consent_holds_until_it_ends_or_is_revoked(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store *s = *state;
	struct consent_record r = {.id = "one",
	                           .project_id = PROJECT,
	                           .sandbox_id = "box",
	                           .conversation_id = "c1",
	                           .credential_id = "k",
	                           .credential_name = "github",
	                           .credential_version = 1,
	                           .hosts = "api.example.com",
	                           .approval_id = "",
	                           .decided_by = "p",
	                           .expires_at = NOW + 10,
	                           .created_at = NOW};
	const struct consent_ref all = {.project_id = PROJECT};
	struct consent_ref ref = {.project_id = PROJECT,
	                          .conversation_id = "c2",
	                          .credential_name = "github",
	                          .now = NOW};
	struct consent_list found;
	struct error err = {0};

	assert_done(store_consent_insert(s, &r, &err));
	r.id = "two";
	r.expires_at = 0;
	assert_done(store_consent_insert(s, &r, &err));
	assert_done(store_consent_active(s, &a, "box", NOW, &found, &err));
	assert_int_equal(found.count, 2);
	assert_done(store_consent_active(s, &a, "box", NOW + 10, &found, &err));
	assert_int_equal(found.count, 1);
	assert_string_equal(found.items[0].id, "two");
	assert_done(store_consent_active(s, &a, "other", NOW, &found, &err));
	assert_int_equal(found.count, 0);
	/* Its end is told once, and not before. */
	for (unsigned i = 0; i < 3; i++) {
		const struct event_page page = {.pattern = "consent.expired", .limit = 99};
		struct event_list told;

		assert_done(store_consent_expire(s, NOW + (i == 0 ? 9 : 10), &err));
		assert_done(store_event_list(s, &a, &page, &told, &err));
		assert_int_equal(told.count, i == 0 ? 0 : 1);
		if (told.count == 0)
			continue;
		assert_string_equal(told.items[0].text, "github");
		assert_string_equal(told.items[0].sandbox_id, "box");
		assert_non_null(strstr(told.items[0].detail, "\"c1\""));
	}
	assert_int_equal(store_consent_revoke(s, &ref, &err), 0);
	ref.conversation_id = "c1";
	assert_int_equal(store_consent_revoke(s, &ref, &err), 2);
	assert_done(store_consent_active(s, &a, "box", NOW, &found, &err));
	assert_int_equal(found.count, 0);
	assert_done(store_consent_list(s, &a, &all, &found, &err));
	assert_int_equal(found.count, 2);
	assert_done(store_consent_purge(s, NOW + 100, &err));
	assert_done(store_consent_list(s, &a, &all, &found, &err));
	assert_int_equal(found.count, 0);
}

static void an_owner_has_few_credentials(void **state)
{
	struct store *s = *state;
	struct credential_record r = sample_credential("", "");
	struct error err = {0};
	char name[32], id[32];

	r.id = id;
	r.name = name;
	for (unsigned i = 0; i <= STORE_CREDENTIALS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		(void)snprintf(id, sizeof(id), "id%u", i);
		if (i < STORE_CREDENTIALS_MAX)
			assert_done(store_credential_insert(s, &r, &err));
		else
			assert_refused(store_credential_insert(s, &r, &err), ERROR_LIMIT);
	}
	r.owner_id = "anna";
	assert_done(store_credential_insert(s, &r, &err));
}

static void a_fingerprint_is_the_values_and_the_server_s(void **state)
{
	struct store *s = *state;
	struct seal *seal = open_seal();
	char one[CREDENTIAL_FINGERPRINT_SIZE + 1], again[sizeof(one)], other[sizeof(one)];
	struct error err = {0};

	store_seal(s, seal);
	assert_done(store_credential_fingerprint(s, PROJECT, "{\"token\":\"a\"}", one, &err));
	assert_done(store_credential_fingerprint(s, PROJECT, "{\"token\":\"a\"}", again, &err));
	assert_string_equal(one, again);
	assert_int_equal(strlen(one), CREDENTIAL_FINGERPRINT_SIZE);
	assert_done(store_credential_fingerprint(s, PROJECT, "{\"token\":\"b\"}", other, &err));
	assert_string_not_equal(one, other);
	assert_done(store_credential_fingerprint(s, "another", "{\"token\":\"a\"}", other, &err));
	assert_string_not_equal(one, other);
	seal_close(seal);
}

static void a_rotation_without_keys_is_refused(void **state)
{
	struct store *s = *state;
	struct error err = {0};
	uint64_t resealed;

	assert_refused(store_secrets_rotate(s, &resealed, &err), ERROR_UNSUPPORTED);
}

static int keyed_set_up(void **state)
{
	unit_folder(key_folder, sizeof(key_folder), "keys");
	snprintf(key_file, sizeof(key_file), "%s/secret.key", key_folder);
	return each_set_up(state);
}

static int keyed_tear_down(void **state)
{
	static const char *const ends[] = {"", ".lock", ".rotating"};
	char name[128];

	((struct store *)*state)->seal = NULL;
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", key_file, ends[i]);
		unlink(name);
	}
	assert_int_equal(rmdir(key_folder), 0);
	return each_tear_down(state);
}

#define KEYED(name) cmocka_unit_test_setup_teardown(name, keyed_set_up, keyed_tear_down)

static const struct CMUnitTest tests[] = {
        KEYED(an_environment_rests_sealed_and_is_read_in_plain),
        KEYED(an_empty_environment_is_not_sealed),
        KEYED(a_template_s_environment_rests_sealed),
        KEYED(a_config_s_environment_rests_sealed_and_is_changed),
        KEYED(a_webhook_s_secret_rests_sealed_and_is_rotated),
        KEYED(a_lease_s_environment_rests_sealed_and_is_rotated),
        KEYED(a_value_of_an_unknown_key_stays_sealed_and_is_kept_as_it_is),
        KEYED(plain_rows_of_earlier_versions_are_sealed),
        KEYED(a_rotation_brings_all_under_a_new_key),
        KEYED(a_server_key_is_made_once_and_outlives_a_rotation),
        KEYED(a_named_secret_rests_sealed_and_has_versions),
        KEYED(a_credential_rests_sealed_and_is_rotated),
        KEYED(a_kept_value_lasts_while_rules_name_it),
        KEYED(a_user_s_credential_is_the_user_s_alone),
        KEYED(a_connect_rests_sealed_and_ends_with_its_credential),
        KEYED(an_authority_s_key_rests_sealed),
        KEYED(a_consent_holds_until_it_ends_or_is_revoked),
        KEYED(an_owner_has_few_credentials),
        KEYED(a_fingerprint_is_the_values_and_the_server_s),
        KEYED(a_rotation_without_keys_is_refused),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
