/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "connect/preset.h"
#include "credential/rule.h"
#include "sandbox/credential.h"

static struct error err;

static struct connect_preset use(struct arena *a, const struct connect_preset *preset)
{
	struct preset_use wish = {.preset = preset->name, .credential = "mine"};
	struct connect_preset ret = {.name = NULL};

	if (credential_hosts_format(a, CREDENTIAL_AWS, (const char *const *)preset->hosts,
	                            &wish.hosts, &err) < 0 ||
	    connect_preset_rules(a, &wish, &ret, &err) < 0)
		fail_msg("%s: %s", preset->name, err.text);
	return ret;
}

static int count_reference(void *context, const struct credential_reference *reference)
{
	assert_true(span_equals_text(reference->name, "mine"));
	++*(size_t *)context;
	return 0;
}

TEST(the_rules_of_every_preset_are_sound_and_name_its_credential)
{
	AUTO(arena_done) struct arena a = {0};
	struct json_list all;

	assert_int_equal(connect_presets(&a, &all, &err), 0);
	for (size_t i = 0; i < all.count; i++) {
		const struct connect_preset found =
		        use(&a, (const struct connect_preset *)all.items + i);
		struct credential_rules rules = {found.rules};
		size_t references = 0;

		if (credential_rules_check(&a, &rules, NULL, &err) < 0)
			fail_msg("%s: %s", found.name, err.text);
		for (size_t j = 0; j < rules.rules.count; j++)
			(void)credential_rule_references(credential_rule_at(&rules, j),
			                                 count_reference, &references);
		assert_true(references > 0);
		/* No rule was left out: each has one of the preset's hosts. */
		assert_int_equal(found.rules.count,
		                 ((const struct connect_preset *)all.items)[i].rules.count);
	}
}

TEST(rules_of_hosts_that_the_credential_lacks_are_left_out)
{
	AUTO(arena_done) struct arena a = {0};
	struct preset_use wish = {"github", "mine", "api.github.com"};
	struct connect_preset found;

	assert_int_equal(connect_preset_rules(&a, &wish, &found, &err), 0);
	for (size_t i = 0; i < found.rules.count; i++)
		assert_string_equal(((const struct credential_rule *)found.rules.items)[i].host,
		                    "api.github.com");
	wish.hosts = "other.example";
	assert_int_equal(connect_preset_rules(&a, &wish, &found, &err), -1);
	wish.preset = "no-such";
	assert_int_equal(connect_preset_rules(&a, &wish, &found, &err), -1);
}

/* What the first rule that holds does; "": none holds. */
static const char *rule_of(const struct credential_rules *rules, const char *host, const char *path)
{
	const struct credential_request request = {
	        .host = span_of(host), .method = SPAN("POST"), .path = span_of(path)};
	const struct credential_rule *found = credential_rules_find(rules, &request);

	return found ? found->action == CREDENTIAL_DENY ? "deny" : "inject" : "";
}

TEST(what_gives_out_credentials_is_refused)
{
	AUTO(arena_done) struct arena a = {0};
	static const struct {
		const char *preset, *host, *path, *action;
	} requests[] = {
	        {"gitlab", "gitlab.com", "/api/v4/personal_access_tokens.json", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/user/personal_access_tokens", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/users/1/impersonation_tokens", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/projects/1/access_tokens", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/groups/a%2Fb/access_tokens/2/rotate", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/user/keys", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/user/gpg_keys", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/projects/a%2Fb/deploy_keys", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/projects/1/hooks", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/projects/1/triggers", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/user/runners", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/projects/1/variables.json", "deny"},
	        {"gitlab", "gitlab.com", "/api/v4/projects/1/issues", "inject"},
	        {"gitlab", "gitlab.com", "/api/v4/projects/1/repository/files/variables.tf",
	         "inject"},
	        {"github", "api.github.com", "/user/ssh_signing_keys", "deny"},
	        {"github", "api.github.com", "/repositories/1/keys", "deny"},
	        {"github", "api.github.com", "/repositories/1/hooks", "deny"},
	        {"github", "api.github.com", "/orgs/o/hooks", "deny"},
	        {"github", "api.github.com", "/repos/o/r/environments/e/secrets/s", "deny"},
	        {"github", "api.github.com", "/repos/o/r/actions/runners/registration-token",
	         "deny"},
	        {"github", "api.github.com", "/repos/o/r/contents/hooks/a", "inject"},
	        {"google", "iam.googleapis.com", "/v1/projects%2Fp%2FserviceAccounts%2Fs%2Fkeys",
	         "deny"},
	        {"npm", "registry.npmjs.org", "/-%2Fnpm%2Fv1%2Ftokens", "deny"},
	        {"npm", "registry.npmjs.org", "/@scope%2Fname", "inject"},
	};

	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		struct connect_preset preset;
		struct credential_rules rules;

		assert_int_equal(connect_preset_find(&a, requests[i].preset, &preset, &err), 0);
		rules = (struct credential_rules){use(&a, &preset).rules};
		if (strcmp(rule_of(&rules, requests[i].host, requests[i].path),
		           requests[i].action) != 0)
			fail_msg("%s is not: %s", requests[i].path, requests[i].action);
	}
}

int main(void)
{
	return RUN(CASE(the_rules_of_every_preset_are_sound_and_name_its_credential),
	           CASE(rules_of_hosts_that_the_credential_lacks_are_left_out),
	           CASE(what_gives_out_credentials_is_refused));
}
