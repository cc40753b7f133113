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

int main(void)
{
	return RUN(CASE(the_rules_of_every_preset_are_sound_and_name_its_credential),
	           CASE(rules_of_hosts_that_the_credential_lacks_are_left_out));
}
