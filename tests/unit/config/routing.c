/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "config/routing.h"

#include "config/providers.h"
#include "loading.h"

static void assert_rules_refused(const char *text, const char *why)
{
	AUTO(arena_done) struct arena arena = {0};
	struct config_rules rules;
	struct error err = {0};

	assert_int_equal(config_routing_parse(&arena, text, &rules, &err), -1);
	if (!strstr(err.text, why))
		fail_msg("'%s' is not in '%s'", why, err.text);
}

TEST(a_rule_has_conditions_and_an_ordered_list_of_providers)
{
	AUTO(arena_done) struct arena arena = {0};
	struct error err = {0};
	struct config_rules rules;

	assert_int_equal(config_routing_parse(
	                         &arena,
	                         "heavy:memory_mb_min=4096;label=tier=gold;cpu_max=2.5;"
	                         "price_min=0.05;providers=docker  native,rest:providers=native",
	                         &rules, &err),
	                 0);
	assert_int_equal(rules.count, 2);
	assert_string_equal(rules.items[0].name, "heavy");
	assert_string_equal(rules.items[0].label, "tier=gold");
	assert_int_equal(rules.items[0].memory_mb_min, 4096);
	assert_int_equal(rules.items[0].price_min, 50000);
	assert_true(rules.items[0].cpu_max > 2.49 && rules.items[0].cpu_max < 2.51);
	assert_int_equal(rules.items[0].provider_count, 2);
	assert_string_equal(rules.items[0].providers[1], "native");
	assert_null(rules.items[1].project);
}

TEST(a_bad_rule_is_refused_with_its_key_and_what_would_be_right)
{
	assert_rules_refused("a:providers=x,a:providers=x", "'a' is there twice");
	assert_rules_refused("a", "providers is missing");
	assert_rules_refused("a:memory=3;providers=x", "memory: it is unknown; known: project");
	assert_rules_refused("a:memory_mb_min=x;providers=x", "rule 'a': memory_mb_min");
	assert_rules_refused("a:cpu_min=-1;providers=x", "cpu_min: '-1' is not a number");
	assert_rules_refused("a:isolation=strong;providers=x", "namespaces");
	assert_rules_refused("a:cpu_min=3;cpu_max=2;providers=x", "cpu_min is above cpu_max");
	assert_rules_refused("a:providers=x x", "'x' is there twice");
	assert_rules_refused("a:providers", "expected KEY=VALUE");
	assert_rules_refused("A B:providers=x", "name of a rule");
}

static void write_file(const struct loading *l, const char *text)
{
	FILE *file = fopen(l->file, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

TEST(the_file_lists_rules_and_an_error_names_the_line_of_the_rule)
{
	AUTO(loading_done) struct loading good = loading_new(), bad = loading_new();

	write_file(&good, "providers:\n  - name: native\n  - name: bare\n    kind: host\n"
	                  "routing:\n  - name: one\n    project: default\n"
	                  "    providers: [bare, native]\n");
	if (loading_run(&good) < 0)
		fail_msg("%s", good.err.text);
	assert_string_equal(good.config.routing, "one:project=default;providers=bare native");
	write_file(&bad, "routing:\n  - name: one\n    providers: native\n"
	                 "  - name: two\n    memory_mb_min: much\n    providers: native\n");
	assert_int_equal(loading_run(&bad), -1);
	assert_non_null(strstr(bad.err.text, ":4: routing: rule 'two': memory_mb_min"));
}

TEST(a_rule_names_only_providers_of_the_configuration)
{
	AUTO(loading_done) struct loading l = loading_new();

	l.flags[1] = "providers=native,bare=host";
	l.flags[2] = "routing=a:providers=cloud";
	assert_int_equal(loading_run(&l), -1);
	assert_non_null(strstr(l.err.text, "unknown 'cloud'; configured: native, bare"));
}

static void assert_provider_refused(const char *text, const char *why)
{
	AUTO(arena_done) struct arena arena = {0};
	struct config_providers providers;
	struct error err = {0};

	assert_int_equal(config_providers_parse(&arena, text, &providers, &err), -1);
	if (!strstr(err.text, why))
		fail_msg("'%s' is not in '%s'", why, err.text);
}

TEST(a_provider_has_limits_and_the_options_of_its_kind)
{
	AUTO(arena_done) struct arena arena = {0};
	struct config_providers all;
	struct error err = {0};

	assert_int_equal(config_providers_parse(
	                         &arena,
	                         "far=docker:docker_host=unix:///run/far.sock;price_hour=0.25;"
	                         "max_cost_day=10;create_timeout=5s;max_p99=800ms,"
	                         "nothing=null:token=env:TOKEN",
	                         &all, &err),
	                 0);
	assert_string_equal(config_provider_value(&all.items[0], "docker_host"),
	                    "unix:///run/far.sock");
	assert_null(config_provider_value(&all.items[0], "docker_image"));
	assert_int_equal(all.items[0].price_hour, 250000);
	assert_int_equal(all.items[0].cost_day_max, 10000000);
	assert_int_equal(all.items[0].create_timeout_ms, 5000);
	assert_int_equal(all.items[0].p99_max_ms, 800);
	assert_string_equal(config_provider_value(&all.items[1], "token"), "env:TOKEN");
}

TEST(bad_settings_of_a_provider_are_refused)
{
	assert_provider_refused("native:docker_host=x", "unknown setting 'docker_host'");
	assert_provider_refused("far=docker:microvm_kernel=x", "known settings: allow_weaker");
	assert_provider_refused("null:max_cost_day=3", "need price_hour");
	assert_provider_refused("null:token=plain", "give a reference");
	assert_provider_refused("null:price_hour=-3", "price_hour: '-3' is not a number");
	assert_provider_refused("null:create_timeout=1ms", "create_timeout");
	assert_provider_refused("null:token=env:A;token=env:B", "it is given twice");
	assert_provider_refused("null:allow_weaker=maybe", "not true or false");
	assert_provider_refused("a=docker:docker_host=tcp://10.0.0.1:1",
	                        "docker_host: 'tcp://10.0.0.1:1' is not right; expected "
	                        "unix:///PATH, a socket of this machine");
	assert_provider_refused("a=docker:docker_host=unix://run/s", "unix:///PATH");
	assert_provider_refused("a=docker:docker_runtime=../x", "letters, digits");
	assert_provider_refused("a=docker:gpu_enabled=maybe", "supported: true, false");
	assert_provider_refused("a=microvm:microvm_kernel=boot", "expected an absolute path");
	assert_provider_refused("a=e2b:e2b_api_url=ftp://x", "a URL such as");
	assert_provider_refused("a=e2b:e2b_api_url=http://", "a URL such as");
	assert_provider_refused("a=e2b:e2b_domain=../x", "letters, digits");
	assert_provider_refused("a=daytona:daytona_api_url=https://a b", "a URL such as");
}

TEST(a_backend_that_the_server_lacks_is_refused)
{
	AUTO(loading_done) struct loading l = loading_new();

	loading_add_variable(&l, "SANDBOX_BACKEND=nomad");
	assert_int_equal(loading_run(&l), -1);
	assert_non_null(strstr(l.err.text, "SANDBOX_BACKEND"));
	assert_non_null(strstr(l.err.text, "native"));
}

int main(void)
{
	return RUN(CASE(a_rule_has_conditions_and_an_ordered_list_of_providers),
	           CASE(a_bad_rule_is_refused_with_its_key_and_what_would_be_right),
	           CASE(the_file_lists_rules_and_an_error_names_the_line_of_the_rule),
	           CASE(a_rule_names_only_providers_of_the_configuration),
	           CASE(a_provider_has_limits_and_the_options_of_its_kind),
	           CASE(bad_settings_of_a_provider_are_refused),
	           CASE(a_backend_that_the_server_lacks_is_refused));
}
