/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/microvm/machine.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/random.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/dial.h"
#include "provider/microvm/shell.h"
#include "wire/agent.h"
#include "wire/agent_machine.h"

#define SAID_MAX 4096   /* of what an error repeats */
#define SHELL_PORT 1025 /* where QEMU listens in the shell */
#define PROCESSORS_MAX 8
#define CONSOLE_LOOK_MS 20
#define SYNC_MS 10000
#define CONSOLE_CALL_MS 5000
#define CONSOLE_MAX (64 * 1024)
#define ARGUMENTS_MAX 64
#define TEXT_OF_VALUE(value) TEXT_OF(value)
#define TEXT_OF(value) #value

struct console {
	const char *id;
	uint64_t process; /* of QEMU */
	uint64_t *seen;   /* bytes of its output and of its errors that were read */
	int64_t deadline;
};

struct argument_list {
	const char **items;
	size_t count;
};

static void add_arguments(struct argument_list *list, const char *const *more)
{
	for (; *more; more++) {
		assert(list->count + 1 < ARGUMENTS_MAX);
		list->items[list->count++] = *more;
	}
}

unsigned microvm_processors(const struct sandbox_spec *spec)
{
	double processors = ceil(spec->resources.cpu);

	return processors > PROCESSORS_MAX ? PROCESSORS_MAX : (unsigned)processors;
}

/* The kernel of an emulated machine finds its clock with certainty only when it is told. */
static const char *kernel_options(struct arena *a, const struct machine_start *start)
{
	return arena_format(a,
	                    "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t mitigations=off "
	                    "%sno_timer_check random.trust_cpu=on "
	                    "rdinit=/init -- --machine %s --machine-pids %lld",
	                    start->has_kvm ? "" : "tsc_early_khz=2000000 ", start->spec->hostname,
	                    (long long)start->spec->resources.pids);
}

/* QEMU itself connects, from the shell's network namespace: the shell's rules are the machine's. */
static const char *outside_network(struct arena *a, const struct sandbox_spec *spec)
{
	return arena_format(
	        a,
	        "user,id=outside,net=10.0.3.0/24,host=10.0.3.2,dns=10.0.3.3,ipv6=off,restrict=%s",
	        spec->network == SANDBOX_NETWORK_INTERNET ? "off" : "on");
}

static bool continues_memory(const struct machine_start *start)
{
	return start->mode == MACHINE_RESTORE || start->mode == MACHINE_LOAD;
}

static const char *saved_folder(const struct machine_start *start)
{
	return start->saved ? start->saved : MICROVM_SAVED;
}

/* All that saved memory depends on. It is the name of the machine, which QEMU does not use. */
static const char *describe_memory(struct arena *a, const struct sandbox_spec *spec, bool has_kvm)
{
	struct stat qemu = {0};

	if (stat(MICROVM_QEMU, &qemu) < 0)
		memset(&qemu, 0, sizeof(qemu));
	return arena_format(a, "cpus=%u memory=%lld accelerator=%s qemu=%lld:%lld",
	                    microvm_processors(spec), (long long)spec->resources.memory_mb,
	                    has_kvm ? "kvm" : "tcg", (long long)qemu.st_size,
	                    (long long)qemu.st_mtime);
}

/* A saved machine continues only with the same devices, in the same order. */
static const char **list_arguments(struct arena *a, const struct machine_start *start)
{
	static const char *const devices[] = {
	        "-nodefaults",
	        "-no-user-config",
	        "-no-reboot",
	        "-display",
	        "none",
	        "-serial",
	        "stdio",
	        "-qmp",
	        "unix:" MICROVM_MONITOR ",server=on,wait=off",
	        "-blockdev",
	        "driver=qcow2,node-name=files,discard=unmap,file.driver=file,"
	        "file.filename=" MICROVM_DISK,
	        "-device",
	        "virtio-blk-device,drive=files",
	        "-netdev",
	        "user,id=agent,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:" TEXT_OF_VALUE(
	                SHELL_PORT) "-10.0.2.15:" TEXT_OF_VALUE(AGENT_MACHINE_PORT),
	        "-device",
	        "virtio-net-device,netdev=agent",
	        "-sandbox",
	        "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
	        NULL};
	long long memory_mb = (long long)start->spec->resources.memory_mb;
	const char *memory = continues_memory(start)
	                             ? arena_format(a, "memory-backend-file,mem-path=%s/ram",
	                                            saved_folder(start))
	                             : "memory-backend-ram";
	const char *const size[] = {
	        MICROVM_PROGRAM,
	        "run",
	        start->key ? MICROVM_KEY : "-",
	        start->key ? start->key : "-",
	        MICROVM_QEMU,
	        "-name",
	        arena_format(a, "guest=%s", describe_memory(a, start->spec, start->has_kvm)),
	        "-M",
	        "microvm,acpi=on,rtc=on,memory-backend=ram",
	        "-accel",
	        start->has_kvm ? "kvm" : "tcg,thread=multi,tb-size=64",
	        "-cpu",
	        start->has_kvm ? "host,arch-capabilities=off" : "max",
	        "-m",
	        arena_format(a, "%lldM", memory_mb),
	        "-object",
	        arena_format(a, "%s,id=ram,share=on,size=%lldM", memory, memory_mb),
	        "-smp",
	        arena_format(a, "%u", microvm_processors(start->spec)),
	        NULL};
	struct argument_list list = {ARENA_ARRAY(a, const char *, ARGUMENTS_MAX), 0};

	add_arguments(&list, size);
	add_arguments(&list, devices);
	add_arguments(&list,
	              (const char *const[]){"-netdev", outside_network(a, start->spec), "-device",
	                                    "virtio-net-device,netdev=outside", NULL});
	if (continues_memory(start))
		add_arguments(&list, (const char *const[]){"-incoming", "defer", NULL});
	else /* A machine that continues has its kernel, and QEMU would keep another copy. */
		add_arguments(&list, (const char *const[]){"-kernel", MICROVM_KERNEL, "-initrd",
		                                           MICROVM_MEMORY_DISK, "-append",
		                                           kernel_options(a, start), NULL});
	if (start->mode == MACHINE_LOAD)
		add_arguments(&list, (const char *const[]){"-S", NULL});
	return list.items;
}

/* Adds what the console and QEMU have said since then. *ret_ended: the machine has ended. */
static int read_console(struct provider *p, const struct console *c, struct buf *said,
                        bool *ret_ended, struct error *err)
{
	const struct agent_attach message = {
	        .process = c->process, .since = {c->seen[0], c->seen[1]}, .read_only = 1};
	const struct compute_request request = {AGENT_ATTACH, agent_attach_shape, &message, NULL};
	const struct agent_limits limits = {.deadline = deadline_after(CONSOLE_CALL_MS)};
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
		buf_add_span(said, output.bytes);
		c->seen[output.stream == AGENT_STDERR] += output.bytes.size;
	} while (r.type != AGENT_DONE && r.type != AGENT_EXIT);
	*ret_ended = r.type == AGENT_EXIT;
	return 0;
}

/* What the console said last. */
static const char *tail_of(const struct buf *said)
{
	return buf_text(said) + (said->size > SAID_MAX ? said->size - SAID_MAX : 0);
}

/* Fails with what the console said when the machine ends before its agent listens. */
static int await_agent(struct provider *p, const struct console *c, struct error *err)
{
	const struct timespec pause = {.tv_nsec = CONSOLE_LOOK_MS * 1000000};
	AUTO(buf_done) struct buf said = BUF(CONSOLE_MAX);
	bool has_ended = false;

	while (!strstr(buf_text(&said), AGENT_MACHINE_READY)) {
		if (has_ended || said.overflowed)
			return FAIL(err, ERROR_SYSTEM, "the virtual machine does not boot: %s",
			            tail_of(&said));
		if (deadline_poll_ms(c->deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT,
			            "the virtual machine has not booted in time; its console ends "
			            "with: %s",
			            tail_of(&said));
		(void)nanosleep(&pause, NULL);
		if (read_console(p, c, &said, &has_ended, err) < 0)
			return FAIL_CONTEXT(err, "the virtual machine does not boot: %s",
			                    tail_of(&said));
	}
	return 0;
}

static int start_qemu(struct provider *p, const struct machine_start *start, uint64_t *ret_process,
                      struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	/* The first says to an operator of the host which machine it is. */
	const char *env[] = {arena_format(&arena, "ATOLL_MACHINE=%s", start->spec->hostname),
	                     "LD_PRELOAD=" MICROVM_LIBRARY,
	                     arena_format(&arena, "ATOLL_GUEST_MEMORY=%s/ram", saved_folder(start)),
	                     NULL};
	if (!continues_memory(start))
		env[1] = NULL;
	const struct agent_exec exec = {
	        .args = list_arguments(&arena, start),
	        .env = env,
	        .cwd = "/",
	        .user = SHELL_USER,
	        .label = "machine",
	        .flags = AGENT_EXEC_DETACH | AGENT_EXEC_NO_PRIVILEGES |
	                 (start->mode == MACHINE_TRIAL ? 0u : AGENT_EXEC_ENDS_ALL)};
	const struct compute_start run = {&exec, &arena, start->deadline};
	struct agent_process process;

	if (compute_start(as_microvm(p)->shells, start->spec->id, &run, &process, err) < 0)
		return -1;
	*ret_process = process.process;
	return 0;
}

int microvm_control(struct provider *p, const char *id, const char *const *words, int64_t deadline,
                    struct error *err)
{
	const char *args[8] = {MICROVM_PROGRAM, words[0], MICROVM_MONITOR};
	const struct shell_program program = {
	        .args = args, .user = SHELL_USER, .doing = words[0], .deadline = deadline};

	for (size_t i = 1; words[i]; i++) {
		assert(i + 3 < COUNT_OF(args));
		args[i + 2] = words[i];
	}
	return shell_run(p, id, &program, err);
}

int microvm_identify(struct provider *p, const struct machine_start *start, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	char entropy[AGENT_IDENTITY_ENTROPY];
	struct timespec now;

	random_bytes(entropy, sizeof(entropy));
	(void)clock_gettime(CLOCK_REALTIME, &now);
	const struct agent_identity identity = {
	        .hostname = start->spec->hostname,
	        .entropy = {entropy, sizeof(entropy)},
	        .unix_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000,
	        .pids_max = (uint64_t)start->spec->resources.pids,
	        .has_network = start->spec->network == SANDBOX_NETWORK_INTERNET,
	        .is_new = start->is_new};
	const struct compute_call call = {
	        .type = AGENT_IDENTITY, .shape = agent_identity_shape, .message = &identity};
	int status = compute_call(p, start->spec->id, &arena, &call, start->deadline, err);

	explicit_bzero(entropy, sizeof(entropy));
	return status;
}

void microvm_sync_files(struct provider *p, const char *id, int64_t deadline)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct agent_identity request = {.hostname = "", .only_syncs = 1};
	const struct compute_call call = {
	        .type = AGENT_IDENTITY, .shape = agent_identity_shape, .message = &request};
	int64_t until = deadline_after(SYNC_MS);
	struct error err = {0};

	if (compute_call(p, id, &arena, &call, until < deadline ? until : deadline, &err) < 0)
		log_info("files of a virtual machine are not written to its disk",
		         TEXT("sandbox", id), FAILURE(&err));
}

static int check_saved(struct provider *p, const struct machine_start *start, bool has_kvm,
                       struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *const args[] = {MICROVM_PROGRAM, "check",
	                            arena_format(&arena, "%s/key", saved_folder(start)),
	                            describe_memory(&arena, start->spec, has_kvm), NULL};
	const struct shell_program program = {.args = args,
	                                      .user = SHELL_USER,
	                                      .doing = "continue the saved machine",
	                                      .deadline = start->deadline};

	return shell_run(p, start->spec->id, &program, err);
}

int microvm_saved_check(struct provider *p, struct machine_start *start, struct error *err)
{
	struct error first = {0};

	if (check_saved(p, start, start->has_kvm, &first) == 0)
		return 0;
	/* A machine of a time before the trial of KVM ended. */
	if (start->has_kvm && first.code == ERROR_SYSTEM &&
	    check_saved(p, start, false, &(struct error){0}) == 0) {
		start->has_kvm = false;
		return 0;
	}
	*err = first;
	if (err->code == ERROR_SYSTEM)
		err->code = ERROR_CONFLICT;
	return -1;
}

static int restore_machine(struct provider *p, const struct machine_start *start, struct error *err)
{
	const char *const words[] = {start->mode == MACHINE_LOAD ? "load" : "restore",
	                             saved_folder(start), NULL};

	if (microvm_control(p, start->spec->id, words, start->deadline, err) < 0)
		return FAIL_CONTEXT(err, "the virtual machine");
	return 0;
}

int microvm_machine_start(struct provider *p, const struct machine_start *start, struct error *err)
{
	uint64_t process;

	if (start_qemu(p, start, &process, err) < 0)
		return -1;
	const struct console console = {start->spec->id, process, (uint64_t[2]){0},
	                                start->deadline};
	if ((continues_memory(start) ? restore_machine(p, start, err)
	                             : await_agent(p, &console, err)) < 0)
		return -1;
	return start->mode == MACHINE_IMAGE || start->mode == MACHINE_LOAD
	               ? 0
	               : microvm_identify(p, start, err);
}

int microvm_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                    struct error *err)
{
	const struct dial dial = {.id = id, .port = SHELL_PORT, .deadline = deadline};

	return compute_dial(as_microvm(p)->shells, &dial, ret_fd, err);
}
