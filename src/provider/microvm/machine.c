/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/microvm/microvm.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "provider/agent_reader.h"
#include "provider/compute_run.h"
#include "provider/dial.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "wire/agent_machine.h"

#define USER "65534"    /* QEMU's in the shell */
#define OUT_MAX 16384   /* of what a program says */
#define SAID_MAX 4096   /* of what an error repeats */
#define SHELL_PORT 1025 /* where QEMU listens in the shell */
#define PROCESSORS_MAX 8
#define CONSOLE_LOOK_MS 20
#define CONSOLE_MAX (64 * 1024)
#define TEXT(value) TEXT_OF(value)
#define TEXT_OF(value) #value

struct console {
	const char *id;
	uint64_t process; /* of QEMU */
	int64_t deadline;
};

static int send_content(struct agent_reader *r, struct span content, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(AGENT_DATA_MAX + 2 * WIRE_HEAD_SIZE);

	while (content.size > 0) {
		buf_reset(&frame);
		wire_add_frame(&frame, AGENT_DATA, span_take(&content, AGENT_DATA_MAX));
		if (agent_reader_send(r, buf_span(&frame), err) < 0)
			return -1;
	}
	buf_reset(&frame);
	wire_add_frame(&frame, AGENT_DATA_END, (struct span){NULL, 0});
	return agent_reader_send(r, buf_span(&frame), err);
}

static int write_file(struct provider *p, const char *id, const char *path, struct span content,
                      int64_t deadline, struct error *err)
{
	const struct agent_path message = {.path = path, .flags = AGENT_PATH_PARENTS};
	const struct compute_request request = {AGENT_WRITE, agent_path_shape, &message, NULL};
	const struct agent_limits limits = {.deadline = deadline};
	AUTO(agent_reader_done) struct agent_reader r;

	agent_reader_init(&r, as_microvm(p)->shells, id, &limits);
	if (agent_reader_ask(&r, &request, err) < 0 ||
	    agent_reader_expect(&r, AGENT_READY, err) < 0 || send_content(&r, content, err) < 0 ||
	    agent_reader_expect(&r, AGENT_FILE, err) < 0)
		return -1;
	return agent_reader_expect(&r, AGENT_DONE, err);
}

static int write_boot_files(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	const struct microvm_boot *boot = &as_microvm(p)->boot;

	return write_file(p, id, MICROVM_DIR "/kernel", buf_span(&boot->kernel), deadline, err) < 0
	               ? -1
	               : write_file(p, id, MICROVM_DIR "/memory", buf_span(&boot->memory_disk),
	                            deadline, err);
}

int microvm_disk_make(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                      struct error *err)
{
	static const char script[] =
	        "set -e; cd " MICROVM_DIR "\n"
	        "truncate -s \"$1\"M new\n"
	        "/usr/sbin/mke2fs -q -F -t ext4 -m 0 -E root_owner=0:0 -d \"$2\" new\n"
	        "chown " USER " new; mv new disk";
	AUTO(arena_done) struct arena arena = {0};
	const char *args[] = {"/bin/sh",
	                      "-c",
	                      script,
	                      "make-disk",
	                      arena_format(&arena, "%lld", (long long)spec->resources.disk_mb),
	                      PROVIDER_REVIEW_PATH "/base",
	                      NULL};
	const struct agent_exec exec = {.args = args, .env = (const char *[]){NULL}, .cwd = "/"};
	const struct compute_run run = {&exec, OUT_MAX, deadline};
	struct compute_result result;

	if (write_boot_files(p, spec->id, deadline, err) < 0 ||
	    compute_run(as_microvm(p)->shells, spec->id, &arena, &run, &result, err) < 0)
		return -1;
	if (result.process.exit_code == 0)
		return 0;
	return FAIL(err, ERROR_SYSTEM, "the disk of %lld MiB cannot be made: %.*s",
	            (long long)spec->resources.disk_mb, (int)result.out[1].size,
	            result.out[1].data);
}

static const char **list_arguments(struct arena *a, const struct sandbox_spec *spec)
{
	double processors = ceil(spec->resources.cpu);
	const char *all[] = {
	        "/usr/bin/qemu-system-x86_64",
	        "-M",
	        "microvm,acpi=on,rtc=on",
	        "-accel",
	        "tcg,thread=multi,tb-size=64",
	        "-cpu",
	        "max",
	        "-m",
	        arena_format(a, "%lldM", (long long)spec->resources.memory_mb),
	        "-smp",
	        arena_format(a, "%d",
	                     processors > PROCESSORS_MAX ? PROCESSORS_MAX : (int)processors),
	        "-nodefaults",
	        "-no-user-config",
	        "-no-reboot",
	        "-display",
	        "none",
	        "-serial",
	        "stdio",
	        "-kernel",
	        MICROVM_DIR "/kernel",
	        "-initrd",
	        MICROVM_DIR "/memory",
	        "-append",
	        /* The kernel finds its clock with certainty only when it is told. */
	        arena_format(a,
	                     "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t mitigations=off "
	                     "tsc_early_khz=2000000 no_timer_check random.trust_cpu=on "
	                     "rdinit=/init -- --machine %s --machine-pids %lld",
	                     spec->hostname, (long long)spec->resources.pids),
	        "-blockdev",
	        "driver=file,node-name=files,filename=" MICROVM_DISK ",discard=unmap",
	        "-device",
	        "virtio-blk-device,drive=files",
	        "-netdev",
	        "user,id=agent,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:" TEXT(
	                SHELL_PORT) "-10.0.2.15:" TEXT(AGENT_MACHINE_PORT),
	        "-device",
	        "virtio-net-device,netdev=agent",
	        "-sandbox",
	        "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
	        NULL,
	};
	const char **args = ARENA_ARRAY(a, const char *, COUNT_OF(all));

	memcpy(args, all, sizeof(all));
	return args;
}

/* Adds what the console has said since `said`. *ret_ended: the machine has ended. */
static int read_console(struct provider *p, const struct console *c, struct buf *said,
                        bool *ret_ended, struct error *err)
{
	const struct agent_attach message = {
	        .process = c->process, .since = {said->size, 0}, .read_only = 1};
	const struct compute_request request = {AGENT_ATTACH, agent_attach_shape, &message, NULL};
	const struct agent_limits limits = {.deadline = c->deadline};
	AUTO(arena_done) struct arena arena = {0};
	AUTO(agent_reader_done) struct agent_reader r;
	struct agent_output output;

	agent_reader_init(&r, as_microvm(p)->shells, c->id, &limits);
	if (agent_reader_ask(&r, &request, err) < 0)
		return -1;
	do {
		if (agent_reader_next(&r, err) < 0)
			return -1;
		if (r.type != AGENT_OUTPUT)
			continue;
		if (wire_decode(&arena, buf_span(&r.payload), agent_output_shape, &output,
		                sizeof(output), err) < 0)
			return -1;
		if (output.stream == AGENT_STDOUT)
			buf_add_span(said, output.bytes);
	} while (r.type != AGENT_DONE && r.type != AGENT_EXIT);
	*ret_ended = r.type == AGENT_EXIT;
	return 0;
}

/* Fails with what the console said when the machine ends before its agent listens. */
static int await_agent(struct provider *p, const struct console *c, struct error *err)
{
	const struct timespec pause = {.tv_nsec = CONSOLE_LOOK_MS * 1000000};
	AUTO(buf_done) struct buf said = BUF(CONSOLE_MAX);
	bool has_ended = false;

	while (!strstr(buf_text(&said), AGENT_MACHINE_READY)) {
		if (has_ended || said.overflowed)
			return FAIL(err, ERROR_SYSTEM, "the virtual machine does not boot: %.*s",
			            SAID_MAX, buf_text(&said));
		if (deadline_poll_ms(c->deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT,
			            "the virtual machine has not booted in time");
		(void)nanosleep(&pause, NULL);
		if (read_console(p, c, &said, &has_ended, err) < 0)
			return -1;
	}
	return 0;
}

int microvm_machine_start(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct agent_exec exec = {.args = list_arguments(&arena, spec),
	                                .env = (const char *[]){NULL},
	                                .cwd = "/",
	                                .user = USER,
	                                .label = "machine",
	                                .flags = AGENT_EXEC_DETACH | AGENT_EXEC_NO_PRIVILEGES |
	                                         AGENT_EXEC_ENDS_ALL};
	const struct compute_start start = {&exec, &arena, deadline};
	struct agent_process process;

	if (compute_start(as_microvm(p)->shells, spec->id, &start, &process, err) < 0)
		return -1;
	const struct console console = {spec->id, process.process, deadline};
	return await_agent(p, &console, err);
}

int microvm_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                    struct error *err)
{
	const struct dial dial = {.id = id, .port = SHELL_PORT, .deadline = deadline};

	return compute_dial(as_microvm(p)->shells, &dial, ret_fd, err);
}
