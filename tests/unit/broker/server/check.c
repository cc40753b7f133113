/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "broker/layers/folder.h"
#include "broker/sandbox/review.h"
#include "broker/server/check.h"
#include "broker/volume/mount.h"
#include "unit.h"
#include "wire/broker_kind.h"
#include "wire/broker_messages.h"

#define ID "abcdefghij234567abcd"

static struct broker_create good_create(void)
{
	return (struct broker_create){.kind = BROKER_NATIVE,
	                              .sandbox = ID,
	                              .hostname = "box",
	                              .template_name = "base",
	                              .network = 1,
	                              .cpu_milli = 500,
	                              .memory_bytes = UINT64_C(1) << 30,
	                              .disk_bytes = UINT64_C(1) << 30,
	                              .pids = 512,
	                              .snapshot = ""};
}

TEST(an_id_of_a_probe_is_refused_for_a_create)
{
	struct broker_create r = good_create();
	struct error err = {0};

	r.sandbox = BROKER_PROBE_PREFIX "aaaaaaaaaa";
	assert_true(id_is_valid(r.sandbox));
	assert_int_equal(check_create(&r, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(a_probe_says_its_network)
{
	struct broker_probe r = {.kind = BROKER_NATIVE, .network = 1, .egress = "-0.0.0.0/0"};
	struct error err = {0};

	assert_int_equal(check_probe(&r, &err), 0);
	r.network = 2;
	assert_int_equal(check_probe(&r, &err), -1);
	r.network = 1;
	r.egress = "everybody";
	assert_int_equal(check_probe(&r, &err), -1);
	r.egress = "";
	r.kind = 7;
	assert_int_equal(check_probe(&r, &err), -1);
}

TEST(a_reasonable_create_is_accepted)
{
	struct broker_create r = good_create();
	struct error err = {0};

	assert_int_equal(check_create(&r, &err), 0);
}

TEST(only_a_native_sandbox_of_the_host_template_can_have_kvm)
{
	struct broker_create r = good_create();
	struct error err = {0};

	r.has_kvm = 1;
	r.template_name = "host";
	assert_int_equal(check_create(&r, &err), 0);
	r.template_name = "base";
	assert_int_equal(check_create(&r, &err), -1);
	r.template_name = "host";
	r.kind = BROKER_GVISOR;
	assert_int_equal(check_create(&r, &err), -1);
	r.kind = BROKER_NATIVE;
	r.has_kvm = 2;
	assert_int_equal(check_create(&r, &err), -1);
}

TEST(a_sandbox_in_gvisor_may_have_what_a_native_one_may)
{
	const char *volumes[] = {ID ":rw:/data", NULL};
	struct broker_create r = good_create();
	struct error err = {0};

	r.kind = BROKER_GVISOR;
	r.network = 1;
	r.egress = "-0.0.0.0/0";
	r.snapshot = ID;
	r.volumes = volumes;
	assert_int_equal(check_create(&r, &err), 0);
}

TEST(an_owner_is_an_id_or_nobody)
{
	static const char *const bad[] = {"o", "a b", "oooooooooooooooooooo\n", "-"};
	struct broker_create r = good_create();
	struct error err = {0};

	for (unsigned i = 0; i < COUNT_OF(bad); i++) {
		r.owner = bad[i];
		assert_int_equal(check_create(&r, &err), -1);
	}
	r.owner = ID;
	assert_int_equal(check_create(&r, &err), 0);
	r.owner = "";
	assert_int_equal(check_create(&r, &err), 0);
}

TEST(what_is_measured_is_an_id_of_a_known_kind)
{
	struct broker_measure r = {.kind = BROKER_MEASURE_VOLUME, .id = ID};
	struct error err = {0};

	assert_int_equal(check_measure(&r, &err), 0);
	r.kind = BROKER_MEASURE_KIND_COUNT;
	assert_int_equal(check_measure(&r, &err), -1);
	r = (struct broker_measure){.id = "../../../../../../etc"};
	assert_int_equal(check_measure(&r, &err), -1);
}

TEST(a_volume_is_an_id_a_mode_and_a_place)
{
	static const char *const bad[] = {"",
	                                  ID,
	                                  ID ":rw",
	                                  ID ":rw:",
	                                  ID ":rw:workspace",
	                                  ID ":rw:/etc",
	                                  ID ":rw:/a/../b",
	                                  ID ":rw:/a//",
	                                  ID ":rw:/a//..",
	                                  ID ":rw:/a///b",
	                                  ID ":rw:/a//b//c",
	                                  ID ":rw:/a//b/../c",
	                                  ID ":rx:/a",
	                                  ID "a:rw:/a",
	                                  "../../../../../../etc:rw:/a",
	                                  "ABCDEFGHIJ234567ABCD:ro:/a"};
	struct error err = {0};
	struct mounted_volume mount;

	for (unsigned i = 0; i < COUNT_OF(bad); i++) {
		struct broker_create r = good_create();

		r.volumes = (const char *[]){bad[i], NULL};
		assert_int_equal(check_create(&r, &err), -1);
		assert_int_equal(volume_mount_parse(bad[i], &mount, &err), -1);
	}
	assert_int_equal(volume_mount_parse(ID ":ro:/data/a:b", &mount, &err), 0);
	assert_string_equal(mount.id, ID);
	assert_string_equal(mount.path, "/data/a:b");
	assert_string_equal(mount.subpath, "");
	assert_true(mount.is_read_only);
	assert_int_equal(volume_mount_parse(ID ":rw:/data//users/a b", &mount, &err), 0);
	assert_string_equal(mount.path, "/data");
	assert_string_equal(mount.subpath, "users/a b");
}

TEST(rules_of_a_network_are_addresses_of_a_sandbox_that_has_one)
{
	static const char *const bad[] = {"1.1.1.1",
	                                  "-example.com",
	                                  "+a.b;c",
	                                  "-0.0.0.0/0 }\n",
	                                  "-1.1.1.1 ; flush ruleset",
	                                  "+1.1.1.1/33"};
	struct broker_egress change = {.sandbox = ID, .egress = "+1.1.1.1 -0.0.0.0/0"};
	struct broker_create r = good_create();
	struct error err = {0};

	r.egress = change.egress;
	assert_int_equal(check_create(&r, &err), 0);
	assert_int_equal(check_egress(&change, &err), 0);
	r.kind = BROKER_HOST;
	assert_int_equal(check_create(&r, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	r.kind = BROKER_NATIVE;
	for (unsigned i = 0; i < COUNT_OF(bad); i++) {
		r.egress = change.egress = bad[i];
		assert_int_equal(check_create(&r, &err), -1);
		assert_int_equal(check_egress(&change, &err), -1);
	}
	change = (struct broker_egress){.sandbox = "../x", .egress = ""};
	assert_int_equal(check_egress(&change, &err), -1);
}

TEST(volumes_of_a_create_are_apart_and_few)
{
	struct broker_create r = good_create();
	struct error err = {0};

	r.volumes = (const char *[]){ID ":rw:/a", "bbcdefghij234567abcd:ro:/b", NULL};
	assert_int_equal(check_create(&r, &err), 0);
	r.volumes = (const char *[]){ID ":rw:/a", "bbcdefghij234567abcd:ro:/a/b", NULL};
	assert_int_equal(check_create(&r, &err), -1);
	r.volumes = (const char *[]){ID ":ro:/a", ID ":ro:/b", NULL};
	assert_int_equal(check_create(&r, &err), -1);
	r.kind = BROKER_HOST;
	r.volumes = (const char *[]){ID ":rw:/a", NULL};
	assert_int_equal(check_create(&r, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
}

TEST(the_longest_review_fits_into_a_request)
{
	AUTO(buf_done) struct buf frame = BUF(4096);
	char name[64] = {0}, review[128];
	struct broker_create r = good_create();
	struct error err = {0};

	memset(name, 'x', sizeof(name) - 1);
	(void)snprintf(review, sizeof(review), ID ":" ID ":rw:%s", name);
	r.review = review;
	assert_int_equal(check_create(&r, &err), 0);
	assert_int_equal(wire_encode(&frame, BROKER_CREATE, broker_create_shape, &r, &err), 0);
}

TEST(a_review_names_whose_layers_and_since_when)
{
	static const char *const bad[] = {ID,
	                                  ID "::",
	                                  ID "::ro:",
	                                  ID "::rx:base",
	                                  "::ro:base",
	                                  ID ":x:ro:base",
	                                  "../../../../../../et::ro:base",
	                                  ID ":../../../../../../et:ro:base",
	                                  ID "::ro:../base",
	                                  ID "::ro:base/..",
	                                  ID "::ro:.base"};
	struct broker_create r = good_create();
	struct error err = {0};
	struct layer_review review;

	for (unsigned i = 0; i < COUNT_OF(bad); i++) {
		r.review = bad[i];
		assert_int_equal(check_create(&r, &err), -1);
		assert_int_equal(review_parse(bad[i], &review, &err), -1);
	}
	assert_int_equal(review_parse(ID "::ro:base", &review, &err), 0);
	assert_string_equal(review.subject, ID);
	assert_string_equal(review.base, "");
	assert_string_equal(review.template_name, "base");
	assert_false(review.writes);
	r.review = ID ":bbcdefghij234567abcd:rw:host";
	assert_int_equal(check_create(&r, &err), 0);
	assert_int_equal(review_parse(r.review, &review, &err), 0);
	assert_string_equal(review.base, "bbcdefghij234567abcd");
	assert_true(review.writes);
	r.kind = BROKER_HOST;
	assert_int_equal(check_create(&r, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
}

TEST(a_volume_request_names_an_id_and_a_known_verb)
{
	struct broker_volume r = {.verb = BROKER_VOLUME_MAKE, .volume = ID, .size_bytes = 1 << 20};
	struct error err = {0};

	assert_int_equal(check_volume(&r, &err), 0);
	r.verb = BROKER_VOLUME_VERB_COUNT;
	assert_int_equal(check_volume(&r, &err), -1);
	r.verb = BROKER_VOLUME_REMOVE;
	r.volume = "../sandboxes";
	assert_int_equal(check_volume(&r, &err), -1);
	r.volume = ID;
	r.size_bytes = UINT64_MAX;
	assert_int_equal(check_volume(&r, &err), -1);
}

TEST(an_attachment_names_a_sandbox_and_a_place_for_the_same_volume)
{
	struct broker_volume r = {.verb = BROKER_VOLUME_ATTACH,
	                          .volume = ID,
	                          .sandbox = "bbcdefghij234567abcd",
	                          .mount = ID ":rw:/data"};
	static const char *const wrong[] = {"", ID ":rw:/etc", ID ":rw:/a/../b", ID ":xx:/data",
	                                    "bbcdefghij234567abcd:rw:/data"};
	struct error err = {0};

	assert_int_equal(check_volume(&r, &err), 0);
	for (unsigned i = 0; i < COUNT_OF(wrong); i++) {
		r.mount = wrong[i];
		assert_int_equal(check_volume(&r, &err), -1);
	}
	r.mount = ID ":ro:/data";
	r.sandbox = "../x";
	r.verb = BROKER_VOLUME_DETACH;
	assert_int_equal(check_volume(&r, &err), -1);
	r.sandbox = ID;
	assert_int_equal(check_volume(&r, &err), 0);
}

TEST(a_backup_request_names_ids_and_folders_and_a_size)
{
	struct broker_backup r = {.verb = BROKER_BACKUP_EXPORT,
	                          .snapshot = ID,
	                          .template_name = "host",
	                          .size_max = 1};
	struct error err = {0};

	assert_int_equal(check_backup(&r, &err), 0);
	r.template_name = "../x";
	assert_int_equal(check_backup(&r, &err), -1);
	r.template_name = "";
	assert_int_equal(check_backup(&r, &err), -1);
	r.verb = BROKER_BACKUP_LOAD;
	assert_int_equal(check_backup(&r, &err), 0);
	r.snapshot = "../sandboxes";
	assert_int_equal(check_backup(&r, &err), -1);
	r.snapshot = "";
	assert_int_equal(check_backup(&r, &err), -1);
	r.verb = BROKER_BACKUP_VERIFY;
	assert_int_equal(check_backup(&r, &err), 0);
	r.size_max = 0;
	assert_int_equal(check_backup(&r, &err), -1);
	r.size_max = UINT64_MAX;
	assert_int_equal(check_backup(&r, &err), -1);
	r.size_max = 1;
	r.full = 1;
	assert_int_equal(check_backup(&r, &err), -1);
	r = (struct broker_backup){.verb = BROKER_BACKUP_EXPORT,
	                           .snapshot = ID,
	                           .template_name = "mine",
	                           .size_max = 1,
	                           .full = 1};
	assert_int_equal(check_backup(&r, &err), 0);
	r.full = 2;
	assert_int_equal(check_backup(&r, &err), -1);
	r.full = 0;
	r.verb = BROKER_BACKUP_VERIFY + 1;
	assert_int_equal(check_backup(&r, &err), -1);
}

TEST(a_template_name_is_never_a_path)
{
	static const char *const bad[] = {"",    ".",     "..",  "../etc", "a/b", "/etc", ".hidden",
	                                  "-rf", "UPPER", "a b", "a\nb",   "_x",  "a\\b", "ä"};
	static const char *const good[] = {"base", "host", "a", "0", "node-20.1_x"};
	struct error err = {0};

	for (unsigned i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(check_template_name(bad[i], &err), -1);
	for (unsigned i = 0; i < COUNT_OF(good); i++)
		assert_int_equal(check_template_name(good[i], &err), 0);
}

TEST(a_template_name_has_at_most_63_characters)
{
	char name[65];
	struct error err = {0};

	memset(name, 'a', sizeof(name));
	name[63] = '\0';
	assert_int_equal(check_template_name(name, &err), 0);
	name[63] = 'a';
	name[64] = '\0';
	assert_int_equal(check_template_name(name, &err), -1);
}

TEST(a_host_name_is_a_dns_label)
{
	static const char *const bad[] = {"", "-a", "a-", "a.b", "a b", "a\n127.0.0.1 x", "a\tb"};
	struct error err = {0};

	for (unsigned i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(check_hostname(bad[i], &err), -1);
	assert_int_equal(check_hostname("Box-1", &err), 0);
}

TEST(a_sandbox_id_is_one_of_ours)
{
	static const char *const bad[] = {"",
	                                  "..",
	                                  "abc",
	                                  "abcdefghij234567abc/",
	                                  "2bcdefghij234567abcd",
	                                  "ABCDEFGHIJ234567ABCD",
	                                  ID "a"};
	struct error err = {0};

	for (unsigned i = 0; i < COUNT_OF(bad); i++) {
		struct broker_id r = {.sandbox = bad[i]};

		assert_int_equal(check_id(&r, &err), -1);
	}
	assert_int_equal(check_sandbox_id(ID, &err), 0);
}

TEST(every_number_of_a_limit_has_bounds)
{
	const struct broker_limit good = {
	        .sandbox = ID, .cpu_milli = 500, .memory_bytes = 1 << 30, .pids = 100};
	struct broker_limit r = good;
	struct error err = {0};

	assert_int_equal(check_limit(&r, &err), 0);
#define LIMIT_REFUSED(member, value)                                                               \
	r = good;                                                                                  \
	r.member = (value);                                                                        \
	assert_int_equal(check_limit(&r, &err), -1)
	LIMIT_REFUSED(cpu_milli, 0);
	LIMIT_REFUSED(cpu_milli, UINT64_MAX);
	LIMIT_REFUSED(memory_bytes, 0);
	LIMIT_REFUSED(memory_bytes, UINT64_MAX);
	LIMIT_REFUSED(pids, 0);
	LIMIT_REFUSED(pids, UINT64_MAX);
	LIMIT_REFUSED(sandbox, "../x");
}

TEST(every_number_of_a_create_has_bounds)
{
	struct error err = {0};
	struct broker_create r;

#define REFUSED(member, value)                                                                     \
	r = good_create();                                                                         \
	r.member = (value);                                                                        \
	assert_int_equal(check_create(&r, &err), -1);                                              \
	assert_non_null(strstr(err.text, #member))
	REFUSED(cpu_milli, 0);
	REFUSED(cpu_milli, UINT64_MAX);
	REFUSED(memory_bytes, 0);
	REFUSED(memory_bytes, UINT64_MAX);
	REFUSED(disk_bytes, UINT64_MAX);
	REFUSED(pids, 0);
	REFUSED(pids, 1 << 30);
	REFUSED(kind, BROKER_KIND_COUNT);
	REFUSED(network, 2);
	REFUSED(privileges, 2);
#undef REFUSED
}

TEST(the_host_provider_needs_no_template)
{
	struct broker_create r = good_create();
	struct error err = {0};

	r.template_name = "";
	assert_int_equal(check_create(&r, &err), -1);
	r.kind = BROKER_HOST;
	assert_int_equal(check_create(&r, &err), 0);
}

TEST(a_list_may_be_of_all)
{
	struct broker_id r = {.sandbox = ""};
	struct error err = {0};

	assert_int_equal(check_list(&r, &err), 0);
	r.sandbox = "..";
	assert_int_equal(check_list(&r, &err), -1);
}

TEST(a_grace_is_not_for_ever)
{
	struct broker_id r = {.sandbox = ID, .grace_ms = UINT64_MAX};
	struct error err = {0};

	assert_int_equal(check_id(&r, &err), -1);
}

TEST(another_protocol_is_refused)
{
	struct broker_hello r = {.protocol = BROKER_PROTOCOL + 1};
	struct error err = {0};

	assert_int_equal(check_hello(&r, &err), -1);
	r.protocol = BROKER_PROTOCOL;
	assert_int_equal(check_hello(&r, &err), 0);
}

TEST(a_template_request_cannot_smuggle_an_option)
{
	struct broker_template r = {.verb = BROKER_TEMPLATE_IMPORT,
	                            .name = "mine",
	                            .recipe = "registry",
	                            .source = "docker.io/library/alpine:3"};
	struct error err = {0};

	assert_int_equal(check_template(&r, &err), 0);
	r.source = "--authfile=/etc/shadow";
	assert_int_equal(check_template(&r, &err), -1);
	r.source = "a b";
	assert_int_equal(check_template(&r, &err), -1);
	r.source = "docker.io/library/alpine:3";
	r.known_digest = "--size-max";
	assert_int_equal(check_template(&r, &err), -1);
	r.known_digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeg";
	assert_int_equal(check_template(&r, &err), -1);
	r.known_digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	assert_int_equal(check_template(&r, &err), 0);
	r.source = "";
	r.recipe = "base";
	assert_int_equal(check_template(&r, &err), -1);
	r.verb = BROKER_TEMPLATE_BUILD;
	assert_int_equal(check_template(&r, &err), 0);
	r.verb = 9;
	assert_int_equal(check_template(&r, &err), -1);
}

TEST(the_machines_own_template_is_not_made_or_removed)
{
	struct broker_template r = {
	        .verb = BROKER_TEMPLATE_REMOVE, .name = "host", .recipe = "", .source = ""};
	struct error err = {0};

	assert_int_equal(check_template(&r, &err), -1);
	r.name = "base";
	assert_int_equal(check_template(&r, &err), 0);
}

TEST(a_pool_has_an_id_a_size_in_order_and_a_plan)
{
	const struct broker_pool good = {.name = ID,
	                                 .template_name = "base",
	                                 .snapshot = "",
	                                 .cpu_milli = 500,
	                                 .memory_bytes = UINT64_C(64) << 20,
	                                 .pids = 64,
	                                 .min = 1,
	                                 .target = 2,
	                                 .max = 2};
	struct broker_pool r = good;
	struct error err = {0};

	assert_int_equal(check_pool(&r, &err), 0);
	r.min = 3;
	assert_int_equal(check_pool(&r, &err), -1);
	r = good;
	r.target = 3;
	assert_int_equal(check_pool(&r, &err), -1);
	r = good;
	r.max = r.target = r.min = 5000;
	assert_int_equal(check_pool(&r, &err), -1);
	r = good;
	r.memory_bytes = 1;
	assert_int_equal(check_pool(&r, &err), -1);
	r = good;
	r.template_name = "../base";
	assert_int_equal(check_pool(&r, &err), -1);
	r = good;
	r.snapshot = "../x";
	assert_int_equal(check_pool(&r, &err), -1);
	r = good;
	r.name = "";
	assert_int_equal(check_pool(&r, &err), -1);
	r = (struct broker_pool){.name = ID, .template_name = ""};
	assert_int_equal(check_pool(&r, &err), 0);
}

int main(void)
{
	return RUN(
	        CASE(a_pool_has_an_id_a_size_in_order_and_a_plan),
	        CASE(an_id_of_a_probe_is_refused_for_a_create), CASE(a_probe_says_its_network),
	        CASE(a_reasonable_create_is_accepted),
	        CASE(only_a_native_sandbox_of_the_host_template_can_have_kvm),
	        CASE(a_sandbox_in_gvisor_may_have_what_a_native_one_may),
	        CASE(an_owner_is_an_id_or_nobody), CASE(what_is_measured_is_an_id_of_a_known_kind),
	        CASE(a_volume_is_an_id_a_mode_and_a_place),
	        CASE(volumes_of_a_create_are_apart_and_few),
	        CASE(a_volume_request_names_an_id_and_a_known_verb),
	        CASE(an_attachment_names_a_sandbox_and_a_place_for_the_same_volume),
	        CASE(the_longest_review_fits_into_a_request),
	        CASE(a_review_names_whose_layers_and_since_when),
	        CASE(a_template_name_is_never_a_path),
	        CASE(a_template_name_has_at_most_63_characters), CASE(a_host_name_is_a_dns_label),
	        CASE(a_sandbox_id_is_one_of_ours), CASE(every_number_of_a_limit_has_bounds),
	        CASE(every_number_of_a_create_has_bounds),
	        CASE(the_host_provider_needs_no_template), CASE(a_list_may_be_of_all),
	        CASE(a_backup_request_names_ids_and_folders_and_a_size),
	        CASE(rules_of_a_network_are_addresses_of_a_sandbox_that_has_one),
	        CASE(a_grace_is_not_for_ever), CASE(another_protocol_is_refused),
	        CASE(a_template_request_cannot_smuggle_an_option),
	        CASE(the_machines_own_template_is_not_made_or_removed));
}
