/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/resource.h>

#include "base/bytes.h"
#include "isolation/plan.h"
#include "unit.h"

static struct isolation_spec some_spec(void)
{
	return (struct isolation_spec){.runsc_fd = ISOLATION_FD_NONE,
	                               .agent_fd = ISOLATION_FD_NONE,
	                               .hostname = "box",
	                               .machine_id = "0123456789abcdef0123456789abcdef",
	                               .project_dir = "/home/user/project",
	                               .resolv_conf = "nameserver 1.2.3.4\n",
	                               .memory_bytes = UINT64_C(1) << 30,
	                               .disk_bytes = UINT64_C(1) << 30,
	                               .pids = 64,
	                               .no_privileges = true,
	                               .disk_is_advisory = true,
	                               .root_fd = 11,
	                               .dev_fd = 12,
	                               .sys_fd = 13,
	                               .usr_fd = ISOLATION_FD_NONE,
	                               .sudo_fd = ISOLATION_FD_NONE,
	                               .sudo_lib_fd = ISOLATION_FD_NONE};
}

static void make(struct arena *a, const struct isolation_spec *spec, struct setup_plan *plan)
{
	struct error err = {0};

	assert_int_equal(isolation_plan(a, spec, plan, &err), 0);
}

/* Index of the first step of this kind at this target (NULL = any), or -1. */
static int find(const struct setup_plan *plan, uint32_t kind, const char *target)
{
	for (unsigned i = 0; i < plan->count; i++)
		if (plan->steps[i].kind == kind &&
		    (!target ||
		     (plan->steps[i].target && strcmp(plan->steps[i].target, target) == 0)))
			return (int)i;
	return -1;
}

TEST(the_plan_changes_the_root_before_it_touches_any_file)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	make(&a, &spec, &plan);
	assert_int_equal(find(&plan, STEP_ROOT, NULL), 0);
	for (unsigned i = 1; i < plan.count; i++)
		if (plan.steps[i].target)
			assert_int_equal(plan.steps[i].target[0], '/');
}

TEST(the_filter_and_the_capabilities_come_last)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	make(&a, &spec, &plan);
	assert_int_equal(plan.steps[plan.count - 1].kind, STEP_CAPABILITIES);
	assert_int_equal(plan.steps[plan.count - 2].kind, STEP_SECCOMP);
	assert_int_equal(plan.steps[plan.count - 3].kind, STEP_NO_PRIVILEGES);
}

TEST(set_uid_programs_gain_nothing_unless_privileges_were_asked_for)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	make(&a, &spec, &plan);
	assert_true(find(&plan, STEP_NO_PRIVILEGES, NULL) > 0);
	spec.no_privileges = false;
	make(&a, &spec, &plan);
	assert_int_equal(find(&plan, STEP_NO_PRIVILEGES, NULL), -1);
}

TEST(descriptors_are_numbered_in_the_order_of_their_first_use)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;
	uint32_t next = 0;

	make(&a, &spec, &plan);
	assert_int_equal(plan.fd_count, 3);
	assert_int_equal(plan.fds[0], 11);
	for (unsigned i = 0; i < plan.count; i++) {
		if (plan.steps[i].fd == ISOLATION_FD_NONE)
			continue;
		assert_true(plan.steps[i].fd <= next);
		if (plan.steps[i].fd == next)
			next++;
	}
	assert_int_equal(next, plan.fd_count);
}

TEST(volumes_lie_below_the_files_of_a_start_and_above_the_filesystems)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	spec.volume_count = 2;
	spec.volume_fds[0] = 21;
	spec.volume_fds[1] = 22;
	spec.volume_paths[0] = "/workspace";
	spec.volume_paths[1] = "/tmp/data";
	make(&a, &spec, &plan);
	assert_true(find(&plan, STEP_FOLDER, "/workspace") <
	            find(&plan, STEP_ATTACH, "/workspace"));
	assert_true(find(&plan, STEP_MOUNT, "/tmp") < find(&plan, STEP_ATTACH, "/tmp/data"));
	assert_true(find(&plan, STEP_ATTACH, "/proc") < find(&plan, STEP_ATTACH, "/workspace"));
	assert_true(find(&plan, STEP_ATTACH, "/tmp/data") < find(&plan, STEP_FILE, NULL));
	assert_int_equal(plan.fd_count, 5);
	assert_int_equal(plan.fds[3], 21);
	assert_int_equal(plan.fds[4], 22);
}

TEST(a_project_folder_on_a_volume_is_made_at_every_start)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	spec.started_before = true;
	make(&a, &spec, &plan);
	assert_int_equal(find(&plan, STEP_FOLDER, "/home/user/project"), -1);
	spec.volume_count = 1;
	spec.volume_fds[0] = 21;
	spec.volume_paths[0] = "/home/use";
	make(&a, &spec, &plan);
	assert_int_equal(find(&plan, STEP_FOLDER, "/home/user/project"), -1);
	spec.volume_paths[0] = "/home/user";
	make(&a, &spec, &plan);
	assert_true(find(&plan, STEP_FOLDER, "/home/user/project") >
	            find(&plan, STEP_ATTACH, "/home/user"));
}

TEST(a_host_template_with_all_its_volumes_fits_into_a_plan)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	spec.host_template = true;
	spec.usr_fd = 14;
	spec.sudo_fd = 15;
	spec.sudo_lib_fd = 16;
	spec.sudo_lib_dir = "/usr/libexec/sudo";
	for (; spec.volume_count < 8; spec.volume_count++) {
		spec.volume_fds[spec.volume_count] = 21 + spec.volume_count;
		spec.volume_paths[spec.volume_count] =
		        arena_format(&a, "/srv/%u", spec.volume_count);
	}
	make(&a, &spec, &plan);
	assert_int_equal(plan.fd_count, 14);
}

static void make_kernel(enum isolation_cgroups cgroups, struct setup_plan *plan)
{
	struct error err = {0};

	assert_int_equal(isolation_plan_kernel(cgroups, plan, &err), 0);
}

TEST(kernel_files_are_masked_after_proc_is_there_and_before_it_is_kept)
{
	struct setup_plan plan;
	int proc, show;

	make_kernel(ISOLATION_CGROUPS_V1, &plan);
	proc = find(&plan, STEP_ATTACH, "/proc");
	show = find(&plan, STEP_SHOW, "/proc");
	assert_int_equal(find(&plan, STEP_PREPARE, NULL), 0);
	assert_true(proc > 0);
	assert_true(find(&plan, STEP_COVER, "/proc/meminfo") > proc);
	assert_true(find(&plan, STEP_READONLY, "/proc/sys") > proc);
	assert_true(find(&plan, STEP_KEEP, "/proc") > show);
	assert_true(show > proc);
	/* written while it still can be */
	assert_true(find(&plan, STEP_POKE, "/proc/sys/user/max_user_namespaces") <
	            find(&plan, STEP_READONLY, "/proc/sys"));
}

TEST(what_tells_of_the_host_is_not_shown)
{
	static const char *const hidden[] = {"cmdline",   "config.gz",  "interrupts",
	                                     "softirqs",  "schedstat",  "pressure",
	                                     "diskstats", "partitions", "modules",
	                                     "kallsyms",  "timer_list", "zoneinfo",
	                                     "buddyinfo", "slabinfo",   "locks",
	                                     "keys",      "bus",        "version_signature",
	                                     "kcore",     "kmsg",       "sysrq-trigger",
	                                     "fs",        "irq",        "driver"};
	struct setup_plan plan;
	const char *shown;

	make_kernel(ISOLATION_CGROUPS_V2, &plan);
	shown = plan.steps[find(&plan, STEP_SHOW, "/proc")].options;
	for (unsigned i = 0; i < COUNT_OF(hidden); i++) {
		struct span rest = span_of(shown), word;

		while (rest.size > 0) {
			(void)span_split(&rest, ' ', &word);
			assert_false(span_equals_text(word, hidden[i]));
		}
	}
}

TEST(a_sandbox_gets_its_own_cgroup_to_read_in_each_version)
{
	struct setup_plan plan;
	int at;

	make_kernel(ISOLATION_CGROUPS_V1, &plan);
	at = find(&plan, STEP_MOUNT, ISOLATION_VIEWS "/cgroup/cpu");
	assert_string_equal(plan.steps[at].options, "cpu");
	assert_true(plan.steps[at].flags & 1 /* MOUNT_ATTR_RDONLY */);
	make_kernel(ISOLATION_CGROUPS_V1_JOINED, &plan);
	at = find(&plan, STEP_MOUNT, ISOLATION_VIEWS "/cgroup/cpu");
	assert_string_equal(plan.steps[at].options, "cpu,cpuacct");
	make_kernel(ISOLATION_CGROUPS_V2, &plan);
	at = find(&plan, STEP_MOUNT, ISOLATION_VIEWS "/cgroup");
	assert_string_equal(plan.steps[at].type, "cgroup2");
	assert_true(plan.steps[at].flags & 1);
}

TEST(only_the_host_template_gets_the_machines_usr)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	spec.usr_fd = 14;
	make(&a, &spec, &plan);
	assert_int_equal(find(&plan, STEP_ATTACH, "/usr"), -1);
	spec.host_template = true;
	make(&a, &spec, &plan);
	assert_true(find(&plan, STEP_ATTACH, "/usr") > 0);
	assert_int_equal(find(&plan, STEP_ATTACH, "/usr/bin/sudo"), -1);
	spec.sudo_fd = 15;
	make(&a, &spec, &plan);
	assert_true(find(&plan, STEP_ATTACH, "/usr/bin/sudo") > find(&plan, STEP_ATTACH, "/usr"));
	spec.sudo_lib_fd = 16;
	spec.sudo_lib_dir = "/usr/lib/sudo";
	make(&a, &spec, &plan);
	assert_true(find(&plan, STEP_ATTACH, "/usr/lib/sudo") > find(&plan, STEP_ATTACH, "/usr"));
}

static uint64_t limit_of(const struct setup_plan *plan, uint32_t resource)
{
	for (unsigned i = 0; i < plan->count; i++)
		if (plan->steps[i].kind == STEP_RLIMIT && plan->steps[i].flags == resource)
			return plan->steps[i].value;
	return UINT64_MAX;
}

TEST(a_file_is_bounded_where_the_disk_is_not)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	make(&a, &spec, &plan);
	assert_int_equal(limit_of(&plan, RLIMIT_FSIZE), spec.disk_bytes);
	assert_int_equal(limit_of(&plan, RLIMIT_CORE), 0);
	assert_true(limit_of(&plan, RLIMIT_NOFILE) <= 20000);
	spec.disk_is_advisory = false;
	make(&a, &spec, &plan);
	assert_int_equal(limit_of(&plan, RLIMIT_FSIZE), UINT64_MAX);
}

TEST(a_second_start_leaves_the_project_but_names_its_own_host_and_nameservers)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	spec.started_before = true;
	make(&a, &spec, &plan);
	assert_int_equal(find(&plan, STEP_FOLDER, "/home/user/project"), -1);
	assert_true(find(&plan, STEP_FILE, "/etc/hosts") > 0);
	assert_true(find(&plan, STEP_FILE, "/etc/resolv.conf") > 0);
}

TEST(files_of_a_start_lie_in_its_memory_which_is_there_before)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	make(&a, &spec, &plan);
	assert_true(find(&plan, STEP_MOUNT, "/run") > 0);
	assert_true(find(&plan, STEP_MOUNT, "/run") < find(&plan, STEP_FILE, NULL));
}

TEST(a_plan_without_a_root_devices_or_an_absolute_project_is_refused)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct error err = {0};
	struct setup_plan plan;

	spec.root_fd = ISOLATION_FD_NONE;
	assert_int_equal(isolation_plan(&a, &spec, &plan, &err), -1);
	spec = some_spec();
	spec.dev_fd = ISOLATION_FD_NONE;
	assert_int_equal(isolation_plan(&a, &spec, &plan, &err), -1);
	spec = some_spec();
	spec.sys_fd = ISOLATION_FD_NONE;
	assert_int_equal(isolation_plan(&a, &spec, &plan, &err), -1);
	spec = some_spec();
	spec.project_dir = "relative";
	assert_int_equal(isolation_plan(&a, &spec, &plan, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(a_printed_plan_has_one_line_per_step)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;
	unsigned lines = 0;

	make(&a, &spec, &plan);
	plan_print(&out, &plan);
	for (size_t i = 0; i < out.size; i++)
		lines += out.data[i] == '\n';
	assert_int_equal(lines, plan.count);
	assert_non_null(strstr(buf_text(&out), "capabilities"));
	assert_non_null(strstr(buf_text(&out), "nameserver 1.2.3.4\\n"));
}

TEST(every_step_survives_the_wire)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct error err = {0};
	struct setup_plan plan;

	make(&a, &spec, &plan);
	for (unsigned i = 0; i < plan.count; i++) {
		AUTO(buf_done) struct buf frame = BUF(WIRE_PAYLOAD_MAX);
		struct setup_step back;
		struct span in, payload;
		uint16_t type;

		assert_int_equal(wire_encode(&frame, 1, setup_step_shape, &plan.steps[i], &err), 0);
		in = buf_span(&frame);
		assert_int_equal(wire_next(&in, &type, &payload, NULL, &err), 1);
		assert_int_equal(
		        wire_decode(&a, payload, setup_step_shape, &back, sizeof(back), &err), 0);
		assert_int_equal(back.kind, plan.steps[i].kind);
		assert_int_equal(back.fd, plan.steps[i].fd);
		if (plan.steps[i].target)
			assert_string_equal(back.target, plan.steps[i].target);
	}
}

/* In gVisor the sandbox's root is a folder of a root without anything of the host. */
TEST(a_plan_for_gvisor_leaves_nothing_of_the_host_in_sight)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;
	unsigned roots = 0;

	spec.runsc_fd = 21;
	spec.agent_fd = 22;
	make(&a, &spec, &plan);
	for (unsigned i = 0; i < plan.count; i++)
		roots += plan.steps[i].kind == STEP_ROOT;
	assert_int_equal(roots, 2);
	assert_true(find(&plan, STEP_KEEP, "/") > find(&plan, STEP_ATTACH, ENCLOSURE_AGENT));
	assert_true(find(&plan, STEP_KEEP, "/") > find(&plan, STEP_FILE, "/etc/ld.so.preload"));
	assert_true(find(&plan, STEP_FILE, "/etc/ld.so.preload") >= 0);
	assert_true(find(&plan, STEP_ATTACH, ENCLOSURE_PROGRAM) > find(&plan, STEP_KEEP, "/"));
	assert_true(find(&plan, STEP_NO_PRIVILEGES, NULL) >= 0);
	assert_int_equal(find(&plan, STEP_ENCLOSE, NULL), (int)plan.count - 1);
	assert_true(
	        strlen(plan.steps[find(&plan, STEP_TEXT, ENCLOSURE_BUNDLE "/config.json")].source) <
	        STEP_SOURCE_MAX);
}

/* In gVisor with a network: see enclosure_config.c. */
TEST(a_network_in_gvisor_comes_with_user_namespaces_of_its_parts)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;

	spec.runsc_fd = 21;
	spec.agent_fd = 22;
	for (int internet = 0; internet < 2; internet++) {
		const struct setup_step *config, *last;

		spec.internet = internet;
		make(&a, &spec, &plan);
		config = &plan.steps[find(&plan, STEP_TEXT, ENCLOSURE_BUNDLE "/config.json")];
		last = &plan.steps[plan.count - 1];
		assert_int_equal(strstr(config->source, "\"type\":\"user\"") != NULL, internet);
		assert_int_equal(strstr(config->source, "\"uidMappings\":[{\"containerID\":0,"
		                                        "\"hostID\":0,\"size\":65536}]") != NULL,
		                 internet);
		assert_int_equal(last->kind, STEP_ENCLOSE);
		assert_int_equal(last->value, internet);
	}
}

TEST(volumes_in_gvisor_are_mounts_of_their_own)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;
	const struct setup_step *config;

	spec.runsc_fd = 21;
	spec.agent_fd = 22;
	spec.volume_count = 2;
	spec.volume_fds[0] = 31;
	spec.volume_fds[1] = 32;
	spec.volume_paths[0] = "/data";
	spec.volume_paths[1] = "/a \"b\" \\c";
	make(&a, &spec, &plan);
	/* Its content is there for the project's folder; then it is kept for the outer root. */
	assert_true(find(&plan, STEP_ATTACH, "/data") < find(&plan, STEP_KEEP, "/data"));
	assert_true(find(&plan, STEP_KEEP, "/data") < find(&plan, STEP_KEEP, "/"));
	assert_true(find(&plan, STEP_ATTACH, ENCLOSURE_VOLUMES "/0") >
	            find(&plan, STEP_ATTACH, ENCLOSURE_BUNDLE "/rootfs"));
	config = &plan.steps[find(&plan, STEP_TEXT, ENCLOSURE_BUNDLE "/config.json")];
	assert_non_null(strstr(config->source, "{\"type\":\"bind\",\"destination\":\"/data\","
	                                       "\"source\":\"" ENCLOSURE_VOLUMES "/0\"}"));
	assert_non_null(strstr(config->source, "\"destination\":\"/a \\\"b\\\" \\\\c\""));
}

TEST(as_many_volumes_as_a_sandbox_may_have_fit_into_a_plan_for_gvisor)
{
	AUTO(arena_done) struct arena a = {0};
	struct isolation_spec spec = some_spec();
	struct setup_plan plan;
	struct error err = {0};
	char path[256];

	memset(path, '"', sizeof(path));
	path[0] = '/';
	path[255] = '\0';
	spec.runsc_fd = 21;
	spec.agent_fd = 22;
	spec.internet = true;
	spec.host_template = true;
	spec.usr_fd = 14;
	spec.sudo_fd = 15;
	spec.sudo_lib_fd = 16;
	spec.sudo_lib_dir = "/usr/libexec/sudo";
	for (spec.volume_count = 0; spec.volume_count < 8; spec.volume_count++) {
		spec.volume_fds[spec.volume_count] = 31 + spec.volume_count;
		spec.volume_paths[spec.volume_count] = path;
	}
	make(&a, &spec, &plan);
	assert_true(
	        strlen(plan.steps[find(&plan, STEP_TEXT, ENCLOSURE_BUNDLE "/config.json")].source) <
	        STEP_SOURCE_MAX);
	spec.volume_count = 9;
	spec.volume_fds[8] = 39;
	spec.volume_paths[8] = "/ninth";
	assert_int_equal(isolation_plan(&a, &spec, &plan, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

int main(void)
{
	return RUN(CASE(the_plan_changes_the_root_before_it_touches_any_file),
	           CASE(the_filter_and_the_capabilities_come_last),
	           CASE(set_uid_programs_gain_nothing_unless_privileges_were_asked_for),
	           CASE(descriptors_are_numbered_in_the_order_of_their_first_use),
	           CASE(volumes_lie_below_the_files_of_a_start_and_above_the_filesystems),
	           CASE(a_project_folder_on_a_volume_is_made_at_every_start),
	           CASE(a_host_template_with_all_its_volumes_fits_into_a_plan),
	           CASE(kernel_files_are_masked_after_proc_is_there_and_before_it_is_kept),
	           CASE(what_tells_of_the_host_is_not_shown),
	           CASE(a_sandbox_gets_its_own_cgroup_to_read_in_each_version),
	           CASE(only_the_host_template_gets_the_machines_usr),
	           CASE(a_file_is_bounded_where_the_disk_is_not),
	           CASE(a_second_start_leaves_the_project_but_names_its_own_host_and_nameservers),
	           CASE(files_of_a_start_lie_in_its_memory_which_is_there_before),
	           CASE(a_plan_without_a_root_devices_or_an_absolute_project_is_refused),
	           CASE(a_printed_plan_has_one_line_per_step), CASE(every_step_survives_the_wire),
	           CASE(a_plan_for_gvisor_leaves_nothing_of_the_host_in_sight),
	           CASE(a_network_in_gvisor_comes_with_user_namespaces_of_its_parts),
	           CASE(volumes_in_gvisor_are_mounts_of_their_own),
	           CASE(as_many_volumes_as_a_sandbox_may_have_fit_into_a_plan_for_gvisor));
}
