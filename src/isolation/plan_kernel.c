/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the kernel's filesystems that a sandbox sees, the same for all sandboxes. /proc
 * shows listed files and masks the rest, so that files of newer kernels are masked, too. No masked
 * file is a hole in a user namespace of a current kernel: masks hide facts about the host from
 * tenants and are a second defence. The cgroup filesystem is the kernel's own: the root of the
 * agent's cgroup namespace is the sandbox's group. It is mounted read-only, and its files belong
 * to an id that does not exist inside. */
#include "isolation/plan_kernel.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>

#include "base/fd.h"
#include "isolation/views.h"

#define V ISOLATION_VIEWS
#define EMPTY V "/empty"
#define SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define CGROUP_FLAGS (SAFE | MOUNT_ATTR_RDONLY)

/* Of /proc. JVM and Go read cgroups, ps and top read tty. */
#define SHOWN                                                                                      \
	"self thread-self mounts net sys sysvipc tty crypto dma execdomains filesystems version "  \
	"cgroups cpuinfo meminfo stat uptime loadavg swaps vmstat"

static const char swaps[] = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
static const char vmstat[] = "nr_free_pages 0\nnr_dirty 0\nnr_writeback 0\npgpgin 0\npgpgout 0\n"
                             "pswpin 0\npswpout 0\npgfault 0\npgmajfault 0\noom_kill 0\n";

#define FOLDER(target_)                                                                            \
	{                                                                                          \
		.kind = STEP_FOLDER, .target = (target_), .flags = 0755                            \
	}
#define TEXT_FILE(target_, text_)                                                                  \
	{                                                                                          \
		.kind = STEP_TEXT, .target = (target_), .source = (text_), .flags = 0444           \
	}
#define COVER(name_)                                                                               \
	{                                                                                          \
		.kind = STEP_COVER, .source = V "/" name_, .target = "/proc/" name_, .optional = 1 \
	}
#define MASK(target_)                                                                              \
	{                                                                                          \
		.kind = STEP_MASK, .source = EMPTY, .target = (target_), .optional = 1             \
	}
#define CGROUP_V1(controllers_, folder_)                                                           \
	{                                                                                          \
		.kind = STEP_MOUNT, .type = "cgroup", .options = (controllers_),                   \
		.target = V "/cgroup/" folder_, .flags = CGROUP_FLAGS, .optional = 2               \
	}

static const struct setup_step files[] = {
        /* The kernel lets a user namespace mount proc only while an unmasked proc mount is
         * visible. */
        {.kind = STEP_PREPARE, .type = "proc", .value = PREPARED_PROC, .flags = SAFE},
        {.kind = STEP_PREPARE,
         .type = "tmpfs",
         .options = "mode=0755,size=512k,nr_inodes=64",
         .value = PREPARED_VIEWS,
         .flags = SAFE},
        {.kind = STEP_ATTACH, .value = PREPARED_VIEWS, .target = V},
        FOLDER(EMPTY),
        FOLDER(EMPTY "/folder"),
        TEXT_FILE(EMPTY "/file", ""),
        FOLDER(V "/cpu"),
        FOLDER(V "/cgroup"),
        TEXT_FILE(V "/cpu/online", ""),
        {.kind = STEP_LINK, .source = V "/cpu/online", .target = V "/cpu/possible"},
        {.kind = STEP_LINK, .source = V "/cpu/online", .target = V "/cpu/present"},
        TEXT_FILE(V "/" VIEW_MEMINFO, ""),
        TEXT_FILE(V "/" VIEW_CPUINFO, ""),
        TEXT_FILE(V "/" VIEW_STAT, ""),
        TEXT_FILE(V "/" VIEW_UPTIME, ""),
        TEXT_FILE(V "/" VIEW_LOADAVG, ""),
        TEXT_FILE(V "/" VIEW_BOOT_ID, ""),
        TEXT_FILE(V "/swaps", swaps),
        TEXT_FILE(V "/vmstat", vmstat),
        FOLDER(V "/cgroup/memory"),
        FOLDER(V "/cgroup/cpu"),
        FOLDER(V "/cgroup/cpuacct"),
        FOLDER(V "/cgroup/pids"),
        /* From here on only the descriptor of the first mount can write to it. */
        {.kind = STEP_READONLY, .target = V},
        {.kind = STEP_ATTACH, .value = PREPARED_PROC, .target = "/proc"},
};

static const struct setup_step memory_v1[] = {
        CGROUP_V1("memory", "memory"),
        CGROUP_V1("pids", "pids"),
};
static const struct setup_step cpu_v1[] = {
        CGROUP_V1("cpu", "cpu"),
        CGROUP_V1("cpuacct", "cpuacct"),
};
static const struct setup_step cpu_v1_joined[] = {
        CGROUP_V1("cpu,cpuacct", "cpu"),
        CGROUP_V1("cpu,cpuacct", "cpuacct"),
};
static const struct setup_step v2[] = {
        {.kind = STEP_MOUNT,
         .type = "cgroup2",
         .target = V "/cgroup",
         .flags = CGROUP_FLAGS,
         .optional = 2},
};

static const struct setup_step covers[] = {
        /* Even with a hole in the filter no user namespace, and so no other namespace, can be made
         * below this one. */
        {.kind = STEP_POKE,
         .source = "0",
         .target = "/proc/sys/user/max_user_namespaces",
         .optional = 1},
        {.kind = STEP_READONLY, .target = "/proc/sys", .optional = 1},
        /* The agent's own folder: the kernel gives its files to root inside, and the agent writes
         * no file there (docs/decisions/agent-is-out-of-reach.md). */
        {.kind = STEP_READONLY, .target = "/proc/1"},
        COVER(VIEW_MEMINFO),
        COVER(VIEW_CPUINFO),
        COVER(VIEW_STAT),
        COVER(VIEW_UPTIME),
        COVER(VIEW_LOADAVG),
        COVER("swaps"),
        COVER("vmstat"),
        {.kind = STEP_COVER,
         .source = V "/" VIEW_BOOT_ID,
         .target = "/proc/sys/kernel/random/boot_id",
         .optional = 1},
        MASK("/proc/sys/fs/dentry-state"),
        MASK("/proc/sys/fs/file-nr"),
        MASK("/proc/sys/fs/inode-nr"),
        MASK("/proc/sys/fs/inode-state"),
        {.kind = STEP_SHOW, .source = EMPTY, .target = "/proc", .options = SHOWN},
        {.kind = STEP_KEEP, .target = "/proc", .value = PREPARED_PROC},
        {.kind = STEP_KEEP, .target = V "/cpu", .value = PREPARED_CPU},
        {.kind = STEP_KEEP, .target = V "/cgroup", .value = PREPARED_CGROUP},
};

/* As for a step that came over the wire. */
static void complete_step(struct setup_step *step)
{
	const char **texts[] = {&step->source, &step->target, &step->type, &step->options};

	step->fd = ISOLATION_FD_NONE;
	for (unsigned i = 0; i < COUNT_OF(texts); i++)
		if (!*texts[i])
			*texts[i] = "";
}

static int add_steps(struct setup_plan *plan, const struct setup_step *steps, unsigned count,
                     struct error *err)
{
	for (unsigned i = 0; i < count; i++) {
		if (plan->count == PLAN_STEPS_MAX)
			return FAIL(err, ERROR_LIMIT, "plan has more than %d steps",
			            PLAN_STEPS_MAX);
		plan->steps[plan->count] = steps[i];
		complete_step(&plan->steps[plan->count++]);
	}
	return 0;
}

static int add_cgroups(struct setup_plan *plan, enum isolation_cgroups cgroups, struct error *err)
{
	if (cgroups == ISOLATION_CGROUPS_V2)
		return add_steps(plan, v2, COUNT_OF(v2), err);
	if (add_steps(plan, memory_v1, COUNT_OF(memory_v1), err) < 0)
		return -1;
	return cgroups == ISOLATION_CGROUPS_V1
	               ? add_steps(plan, cpu_v1, COUNT_OF(cpu_v1), err)
	               : add_steps(plan, cpu_v1_joined, COUNT_OF(cpu_v1_joined), err);
}

int isolation_plan_kernel(enum isolation_cgroups cgroups, struct setup_plan *ret, struct error *err)
{
	ret->count = ret->fd_count = 0;
	ret->arena = NULL;
	if (add_steps(ret, files, COUNT_OF(files), err) < 0 || add_cgroups(ret, cgroups, err) < 0)
		return -1;
	return add_steps(ret, covers, COUNT_OF(covers), err);
}

enum isolation_cgroups isolation_cgroups_find(void)
{
	AUTO(buf_done) struct buf text = BUF(16384);
	struct error ignored = {0};

	if (file_read(AT_FDCWD, "/proc/self/cgroup", &text, &ignored) < 0)
		return ISOLATION_CGROUPS_V2;
	if (!strstr(buf_text(&text), ":memory:"))
		return ISOLATION_CGROUPS_V2;
	if (strstr(buf_text(&text), ":cpu,cpuacct:") || strstr(buf_text(&text), ":cpuacct,cpu:"))
		return ISOLATION_CGROUPS_V1_JOINED;
	return ISOLATION_CGROUPS_V1;
}
