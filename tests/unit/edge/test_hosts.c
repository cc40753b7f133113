/* SPDX-License-Identifier: Apache-2.0 */
/* Which names are this server's, and which pages of other servers may call it. */
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "edge/api.h"
#include "edge/hooks.h"
#include "edge/hosts.h"
#include "unit.h"

static struct config config_of(const char *hosts)
{
	return (struct config){.listen = "box.lan:8080",
	                       .hosts = hosts,
	                       .preview_domain = "previews.test:8443",
	                       .preview_origin = "https://p.test:444",
	                       .cors_origins = ""};
}

static void assert_ours(const struct config *config, const char *const *hosts, bool is_ours)
{
	for (; *hosts; hosts++)
		if (host_is_ours(config, span_of(*hosts)) != is_ours)
			fail_msg("'%s' is %s", *hosts, is_ours ? "not ours" : "ours");
}

TEST(addresses_and_names_of_the_configuration_are_ours)
{
	static const char *const ours[] = {
	        "127.0.0.1",   "10.1.2.3:99",           "[::1]:8080", "[fe80::1%eth0]", "localhost",
	        "LocalHost:1", "a.localhost",           "box.lan",    "BOX.lan.:7",     "api.test",
	        "b.test:80",   "3000-id.previews.test", NULL};
	const struct config config = config_of("api.test, b.test");

	assert_ours(&config, ours, true);
}

TEST(other_names_are_not_ours)
{
	static const char *const others[] = {"",
	                                     ".",
	                                     ":80",
	                                     "evil.test",
	                                     "127.0.0.1.evil.test",
	                                     "localhost.evil.test",
	                                     "notlocalhost",
	                                     ".localhost",
	                                     "api.test.evil",
	                                     "xapi.test",
	                                     "box.lan.evil",
	                                     "previews.test",
	                                     ".previews.test",
	                                     "xpreviews.test",
	                                     "p.test:80",
	                                     "1.2.3",
	                                     "2130706433",
	                                     NULL};
	const struct config config = config_of("api.test, b.test");

	assert_ours(&config, others, false);
}

TEST(a_star_takes_every_name)
{
	const struct config config = config_of("api.test, *");

	assert_true(host_is_ours(&config, SPAN("evil.test")));
	assert_true(host_is_shared(&config, SPAN("evil.test")));
}

TEST(without_names_in_the_configuration_no_empty_name_is_ours)
{
	const struct config config = {
	        .listen = "", .hosts = "", .preview_domain = "", .preview_origin = ""};

	assert_false(host_is_ours(&config, SPAN("")));
	assert_false(host_is_ours(&config, SPAN("evil.test")));
	assert_false(host_is_preview_origin(&config, SPAN("")));
	assert_int_equal(host_label(&config, SPAN("a.b")).size, 0);
}

TEST(a_very_long_name_is_no_address)
{
	const struct config config = config_of("");
	char name[1000];

	memset(name, '1', sizeof(name));
	assert_false(host_is_ours(&config, (struct span){name, sizeof(name)}));
}

TEST(the_name_of_this_machine_is_ours_but_not_shared)
{
	const struct config config = config_of("");
	char own[300] = "";

	assert_int_equal(gethostname(own, sizeof(own) - 1), 0);
	if (strcmp(own, "localhost") == 0)
		return;
	assert_true(host_is_ours(&config, span_of(own)));
	assert_false(host_is_shared(&config, span_of(own)));
	assert_false(host_is_shared(&config, SPAN("box.lan")));
}

TEST(the_origin_of_previews_is_told_with_its_port)
{
	const struct config config = config_of("");

	assert_true(host_is_preview_origin(&config, SPAN("P.test:444")));
	assert_true(host_is_shared(&config, SPAN("p.test:444")));
	assert_false(host_is_preview_origin(&config, SPAN("p.test")));
	assert_false(host_is_preview_origin(&config, SPAN("p.test:443")));
}

TEST(a_label_is_what_stands_before_the_domain_of_previews)
{
	const struct config config = config_of("");

	assert_true(span_equals_text(host_label(&config, SPAN("3000-id.previews.test:8443")),
	                             "3000-id"));
	assert_true(span_equals_text(host_label(&config, SPAN("a.b.Previews.Test.")), "a.b"));
	assert_int_equal(host_label(&config, SPAN("previews.test")).size, 0);
	assert_int_equal(host_label(&config, SPAN("a.other.test")).size, 0);
}

/* ---- pages of other servers ---- */

static const char *allowed(const char *list, const char *origin)
{
	struct config config = config_of("");
	struct api api = {.config = &config};

	config.cors_origins = list;
	return api_allow_origin(&api, origin);
}

TEST(only_listed_origins_may_call)
{
	static const char list[] = "https://a.test, https://b.test:8443";

	assert_string_equal(allowed(list, "https://a.test"), "https://a.test");
	assert_string_equal(allowed(list, "https://b.test:8443"), "https://b.test:8443");
	assert_null(allowed(list, "https://b.test"));
	assert_null(allowed(list, "http://a.test"));
	assert_null(allowed(list, "https://a.test.evil"));
	assert_null(allowed(list, "null"));
	assert_null(allowed("", "https://a.test"));
	assert_null(allowed("", ""));
	assert_string_equal(allowed("*", "https://any.test"), "*");
}

int main(void)
{
	return RUN(CASE(addresses_and_names_of_the_configuration_are_ours),
	           CASE(other_names_are_not_ours), CASE(a_star_takes_every_name),
	           CASE(without_names_in_the_configuration_no_empty_name_is_ours),
	           CASE(a_very_long_name_is_no_address),
	           CASE(the_name_of_this_machine_is_ours_but_not_shared),
	           CASE(the_origin_of_previews_is_told_with_its_port),
	           CASE(a_label_is_what_stands_before_the_domain_of_previews),
	           CASE(only_listed_origins_may_call));
}
