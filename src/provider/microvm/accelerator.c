/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/microvm/accelerator.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/thread.h"
#include "provider/health.h"
#include "provider/kind_options.h"
#include "provider/microvm/image.h"
#include "provider/microvm/machine.h"
#include "provider/microvm/shell.h"
#include "provider/native/broker_provider.h"

#define DEVICE "/dev/kvm"
#define TRIAL_MS 15000 /* of the boot; a machine under KVM boots in less than two seconds */
#define SHELL_MS 20000 /* of the shell and its files */
#define CLEAN_UP_MS 10000
#define FAILURE_KEPT_MS (INT64_C(24) * 3600 * 1000)
#define RESULT_FILE "microvm/accelerator" /* atolld makes the folder (daemon/data.c) */
#define RESULT_MAX 2048

/* The words of the API and of the metrics. */
enum finding {
	FINDING_CHOSEN, /* by the option */
	FINDING_ABSENT, /* no /dev/kvm */
	FINDING_TRYING,
	FINDING_FAILED,
	FINDING_BOOTED,
};
static const char *const finding_names[] = {
        [FINDING_CHOSEN] = "option", [FINDING_ABSENT] = "absent", [FINDING_TRYING] = "trying",
        [FINDING_FAILED] = "failed", [FINDING_BOOTED] = "booted",
};

struct microvm_accelerator {
	struct provider *provider;
	bool must_be_kvm; /* the option `kvm` */
	bool has_thread;
	pthread_t thread;
	struct id trial; /* the sandbox of the trial */
	char key[256];   /* what the result depends on */

	pthread_mutex_t mutex; /* guards the rest */
	enum finding finding;
	char because[ERROR_TEXT_MAX];
};

static void set_finding(struct microvm_accelerator *a, enum finding finding, const char *because)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&a->mutex);

	a->finding = finding;
	(void)snprintf(a->because, sizeof(a->because), "%s", because);
}

/* A result is of one pair of kernels and one QEMU. */
static void describe_key(struct microvm_accelerator *a)
{
	struct utsname host = {.release = ""};
	struct stat qemu = {0};

	(void)uname(&host);
	if (stat(MICROVM_QEMU, &qemu) < 0)
		memset(&qemu, 0, sizeof(qemu));
	(void)snprintf(a->key, sizeof(a->key), "host=%.100s qemu=%lld:%lld programs=%016llx",
	               host.release, (long long)qemu.st_size, (long long)qemu.st_mtime,
	               (unsigned long long)as_microvm(a->provider)->boot.digest);
}

static void result_path(const struct microvm_accelerator *a, char ret[PATH_SIZE_MAX])
{
	(void)snprintf(ret, PATH_SIZE_MAX, "%.4000s/" RESULT_FILE,
	               as_microvm(a->provider)->data_dir);
}

/* The file has four lines: key, time (Unix ms), "kvm" or "tcg", and the reason. */
static bool read_result(struct microvm_accelerator *a)
{
	AUTO(buf_done) struct buf text = BUF(RESULT_MAX);
	struct error ignored = {0};
	char path[PATH_SIZE_MAX];
	struct span rest, line;
	int64_t at;

	result_path(a, path);
	if (file_read(AT_FDCWD, path, &text, &ignored) < 0)
		return false;
	rest = buf_span(&text);
	if (!span_split(&rest, '\n', &line) || !span_equals_text(line, a->key) ||
	    !span_split(&rest, '\n', &line) ||
	    span_parse_whole(line, 0, INT64_MAX, &at, &ignored) < 0 ||
	    !span_split(&rest, '\n', &line))
		return false;
	bool has_booted = span_equals_text(line, "kvm");
	(void)span_split(&rest, '\n', &line);
	if (!has_booted && clock_unix_ms() - at > FAILURE_KEPT_MS)
		return false;
	char because[ERROR_TEXT_MAX];
	(void)snprintf(because, sizeof(because), "%.*s", (int)line.size, line.data);
	set_finding(a, has_booted ? FINDING_BOOTED : FINDING_FAILED, because);
	return true;
}

/* Without the file the next start tries again. */
static void write_result(const struct microvm_accelerator *a, bool has_booted, const char *because)
{
	AUTO(buf_done) struct buf text = BUF(RESULT_MAX);
	struct error err = {0};
	char path[PATH_SIZE_MAX];

	result_path(a, path);
	buf_addf(&text, "%s\n%lld\n%s\n", a->key, (long long)clock_unix_ms(),
	         has_booted ? "kvm" : "tcg");
	for (const char *c = because; *c; c++)
		buf_add(&text, *c == '\n' || *c == '\r' ? " " : c, 1);
	buf_add_text(&text, "\n");
	if (file_write(AT_FDCWD, path, buf_span(&text), 0600, &err) < 0)
		log_warning("the result of the trial boot is not kept", FAILURE(&err));
}

/* An empty disk is enough: the agent needs no program of it. */
static int make_trial_disk(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	static const char script[] =
	        "set -e; cd " MICROVM_DIR "\n"
	        "chmod 755 atoll-machine; mkdir run; chown " SHELL_USER " run\n"
	        "truncate -s 8M base; /usr/sbin/mke2fs -q -F -t ext4 base\n"
	        "qemu-img create -q -f qcow2 -F raw -b base disk 8M\n"
	        "chown " SHELL_USER " disk\n";
	static const char *const args[] = {"/bin/sh", "-c", script, NULL};
	const struct shell_program program = {
	        .args = args, .doing = "make the disk of a trial", .deadline = deadline};

	return shell_run(p, id, &program, err);
}

static int boot_trial(struct provider *p, const struct sandbox_spec *spec, int64_t *ret_ms,
                      struct error *err)
{
	int64_t deadline = deadline_after(SHELL_MS);
	const struct sandbox_spec shell = microvm_shell_of(spec, true);
	struct provider_created ignored;

	if (broker_provider_create(as_microvm(p)->shells, &shell, deadline, &ignored, err) < 0 ||
	    shell_write_parts(p, spec->id, deadline, err) < 0 ||
	    make_trial_disk(p, spec->id, deadline, err) < 0)
		return -1;
	int64_t began_ms = clock_monotonic_ms();
	const struct machine_start start = {.spec = spec,
	                                    .mode = MACHINE_TRIAL,
	                                    .has_kvm = true,
	                                    .deadline = deadline_after(TRIAL_MS)};
	/* It ends with a call to the machine's agent. */
	if (microvm_machine_start(p, &start, err) < 0)
		return -1;
	*ret_ms = clock_monotonic_ms() - began_ms;
	return 0;
}

static void *run_trial(void *context)
{
	struct microvm_accelerator *a = context;
	struct provider *p = a->provider;
	const struct sandbox_spec spec = {
	        .id = a->trial.text,
	        .hostname = "trial",
	        .template_dir = "host",
	        .resources = {.cpu = 1, .memory_mb = 192, .disk_mb = 64, .pids = 64},
	        .network = SANDBOX_NETWORK_BLOCKED};
	struct error err = {0};
	char because[ERROR_TEXT_MAX];
	int64_t took_ms = 0;
	bool has_booted = boot_trial(p, &spec, &took_ms, &err) == 0;

	(void)broker_provider_destroy(as_microvm(p)->shells, a->trial.text,
	                              deadline_after(CLEAN_UP_MS), &(struct error){0});
	if (has_booted)
		(void)snprintf(because, sizeof(because), "a trial machine booted in %lld ms",
		               (long long)took_ms);
	else
		(void)snprintf(because, sizeof(because), "the trial boot failed: %.200s", err.text);
	set_finding(a, has_booted ? FINDING_BOOTED : FINDING_FAILED, because);
	/* A broker that went away says nothing about KVM. */
	if (has_booted || err.code != ERROR_UNAVAILABLE)
		write_result(a, has_booted, because);
	log_info("a trial of KVM has ended", TEXT("accelerator", has_booted ? "kvm" : "tcg"),
	         TEXT("because", because));
	return NULL;
}

static int start_trial(struct microvm_accelerator *a, struct error *err)
{
	int failed;

	if (access(DEVICE, F_OK) < 0) {
		set_finding(a, FINDING_ABSENT, "this machine has no " DEVICE);
		return 0;
	}
	if (read_result(a))
		return 0;
	set_finding(a, FINDING_TRYING, "a trial boot under KVM is under way");
	a->trial = microvm_hidden_id();
	failed = thread_start(&a->thread, NULL, run_trial, a);
	if (failed) {
		errno = failed;
		return FAIL_ERRNO(err, "start a thread");
	}
	a->has_thread = true;
	return 0;
}

int microvm_accelerator_open(struct provider *p, const struct microvm_options *options,
                             struct microvm_accelerator **ret, struct error *err)
{
	const char *wish = options->accelerator ? options->accelerator : "tcg";
	struct microvm_accelerator *a;

	if (strcmp(wish, "auto") != 0 && strcmp(wish, "kvm") != 0 && strcmp(wish, "tcg") != 0)
		return FAIL(err, ERROR_INVALID,
		            "microvm_accelerator: unknown '%.60s'; known: auto, kvm, tcg", wish);
	a = memory_new(sizeof(*a));
	a->provider = p;
	a->must_be_kvm = strcmp(wish, "kvm") == 0;
	pthread_mutex_init(&a->mutex, NULL);
	*ret = a;
	describe_key(a);
	if (strcmp(wish, "tcg") != 0)
		return start_trial(a, err);
	set_finding(a, FINDING_CHOSEN, "the option microvm_accelerator is 'tcg'");
	return 0;
}

void microvm_accelerator_close(struct microvm_accelerator *a)
{
	if (!a)
		return;
	if (a->has_thread) {
		/* The trial's machine ends with its shell, and the thread's wait with it. */
		(void)broker_provider_destroy(as_microvm(a->provider)->shells, a->trial.text,
		                              deadline_after(CLEAN_UP_MS), &(struct error){0});
		(void)pthread_join(a->thread, NULL);
	}
	pthread_mutex_destroy(&a->mutex);
	free(a);
}

int microvm_accelerator_choose(struct microvm_accelerator *a, bool *ret_kvm, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&a->mutex);

	if (a->must_be_kvm && a->finding != FINDING_BOOTED) {
		(void)FAIL(err,
		           a->finding == FINDING_TRYING ? ERROR_UNAVAILABLE : ERROR_UNSUPPORTED,
		           "provider 'microvm' may only use KVM (microvm_accelerator), but %.200s",
		           a->because);
		return FAIL_HINT(err, "'microvm_accelerator: auto' emulates processors instead");
	}
	*ret_kvm = a->finding == FINDING_BOOTED;
	return 0;
}

void microvm_accelerator_describe(struct microvm_accelerator *a, struct provider_accelerator *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&a->mutex);

	ret->name = a->finding == FINDING_BOOTED || a->must_be_kvm ? "kvm" : "tcg";
	ret->reason = finding_names[a->finding];
	(void)snprintf(ret->because, sizeof(ret->because), "%s", a->because);
}
