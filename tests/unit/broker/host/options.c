/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "broker/host/options.h"
#include "unit.h"

static int parse(char **argv, struct broker_options *ret, struct error *err)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return broker_options_parse(ret, argc, argv, err);
}

#define NEEDED "atoll-broker", "--data", "/d", "--agent", "/a"
#define PARSE(ret, err, ...)                                                                       \
	parse((char **)(uintptr_t)(const char *[]){NEEDED __VA_OPT__(, ) __VA_ARGS__, NULL},       \
	      (ret), (err))

TEST(what_is_not_said_has_a_default)
{
	struct broker_options o;
	struct error err = {0};

	assert_int_equal(PARSE(&o, &err), 0);
	assert_string_equal(o.subnet, "10.213.0.0/16");
	assert_string_equal(o.allow, "");
	assert_int_equal(o.disk_quota, DISK_QUOTA_OFF);
	assert_int_equal(o.io_mbps, 0);
	assert_true(o.cells > 0);
	assert_true(o.pool_automatic > 0);
	assert_true(o.pool_max >= o.pool_automatic);
}

TEST(every_option_arrives)
{
	struct broker_options o;
	struct error err = {0};

	assert_int_equal(PARSE(&o, &err, "--uid", "990", "--gid", "991", "--cells", "0", "--subnet",
	                       "10.9.0.0/16", "--allow", "10.0.0.0/8", "--disk-quota", "on",
	                       "--io-mbps", "80", "--pool-automatic", "0", "--pool-max", "9",
	                       "--gateway", "4080,4443,65535"),
	                 0);
	assert_int_equal(o.uid, 990);
	assert_int_equal(o.gid, 991);
	assert_int_equal(o.cells, 0);
	assert_int_equal(o.pool_automatic, 0);
	assert_int_equal(o.pool_max, 9);
	assert_string_equal(o.allow, "10.0.0.0/8");
	assert_int_equal(o.disk_quota, DISK_QUOTA_ON);
	assert_int_equal(o.io_mbps, 80);
	assert_int_equal(o.gateway.http, 4080);
	assert_int_equal(o.gateway.tls, 4443);
	assert_int_equal(o.gateway.dns, 65535);
}

TEST(a_disk_quota_has_a_name)
{
	static const char *const names[] = {"off", "on", "auto", "project", "image"};
	struct broker_options o;
	struct error err = {0};

	for (unsigned i = 0; i < COUNT_OF(names); i++) {
		assert_int_equal(PARSE(&o, &err, "--disk-quota", names[i]), 0);
		assert_int_equal(o.disk_quota, i);
	}
}

TEST(nonsense_is_refused_by_name)
{
	struct broker_options o;
	struct error err = {0};

	assert_int_equal(PARSE(&o, &err, "--uid", "-1"), -1);
	assert_non_null(strstr(err.text, "--uid"));
	assert_int_equal(PARSE(&o, &err, "--cells", "100000"), -1);
	assert_int_equal(PARSE(&o, &err, "--disk-quota", "maybe"), -1);
	assert_int_equal(PARSE(&o, &err, "--io-mbps", "-1"), -1);
	assert_int_equal(PARSE(&o, &err, "--gateway", "1,2"), -1);
	assert_int_equal(PARSE(&o, &err, "--gateway", "1,2,65536"), -1);
	assert_int_equal(PARSE(&o, &err, "--gateway", "1,2,3,4"), -1);
	assert_int_equal(PARSE(&o, &err, "--unknown", "1"), -1);
	assert_int_equal(PARSE(&o, &err, "stray"), -1);
}

TEST(the_three_paths_are_needed)
{
	const char *argv[] = {"atoll-broker", "--data", "/d", NULL};
	struct broker_options o;
	struct error err = {0};

	assert_int_equal(parse((char **)(uintptr_t)argv, &o, &err), -1);
}

int main(void)
{
	return RUN(CASE(what_is_not_said_has_a_default), CASE(every_option_arrives),
	           CASE(a_disk_quota_has_a_name), CASE(nonsense_is_refused_by_name),
	           CASE(the_three_paths_are_needed));
}
