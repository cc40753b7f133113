/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an image: a shell with the template as a disk, a machine that boots from it, and a snapshot
 * of both. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "provider/microvm/image.h"
#include "provider/microvm/machine.h"
#include "provider/microvm/shell.h"
#include "provider/native/broker_provider.h"
#include "provider/snapshots.h"

#define CLEAN_UP_MS 10000
/* Of the kernel, the programs and what the machine writes as it boots. */
#define IMAGE_DISK_MB 128

struct id microvm_hidden_id(void)
{
	struct id id = id_new();

	memcpy(id.text, ID_IMAGE_PREFIX, sizeof(ID_IMAGE_PREFIX) - 1);
	return id;
}

/* The review of a sandbox shows its template. That sandbox is gone again when this returns. */
static int make_shell(struct provider *p, const struct sandbox_spec *machine,
                      const struct microvm_image *image, int64_t deadline, struct error *err)
{
	const struct id subject = microvm_hidden_id();
	struct provider *shells = as_microvm(p)->shells;
	struct sandbox_spec shell = microvm_shell_of(machine, image->has_kvm);
	const struct sandbox_review review = {.subject = subject.text,
	                                      .template_dir = machine->template_dir};
	const struct sandbox_spec first = {
	        .id = subject.text,
	        .hostname = "template",
	        .template_dir = machine->template_dir,
	        .resources = {.cpu = 0.1, .memory_mb = 64, .disk_mb = 16, .pids = 16}};
	struct provider_created ignored;

	shell.review = &review;
	shell.resources.disk_mb += machine->resources.memory_mb + IMAGE_DISK_MB;
	if (broker_provider_create(shells, &first, deadline, &ignored, err) < 0)
		return -1;
	int status = broker_provider_create(shells, &shell, deadline, &ignored, err);
	(void)broker_provider_destroy(shells, subject.text, deadline_after(CLEAN_UP_MS),
	                              &(struct error){0});
	return status;
}

static int make_disk(struct provider *p, const struct sandbox_spec *machine, int64_t deadline,
                     struct error *err)
{
	static const char script[] =
	        "set -e; cd " MICROVM_DIR "\n"
	        "chmod 755 atoll-machine\n"
	        "mkdir run saved kept; chown " SHELL_USER " run saved kept\n"
	        "truncate -s \"$1\"M base\n"
	        "/usr/sbin/mke2fs -q -F -t ext4 -m 0 -E root_owner=0:0 -d \"$2\" base\n"
	        "qemu-img create -q -f qcow2 -F raw -b base disk \"$1\"M\n"
	        "chown " SHELL_USER " disk\n";
	char size[32];
	const char *args[] = {
	        "/bin/sh", "-c", script, "make-disk", size, PROVIDER_REVIEW_PATH "/base", NULL};
	const struct shell_program program = {
	        .args = args, .doing = "make the disk of the machine", .deadline = deadline};

	(void)snprintf(size, sizeof(size), "%lld", (long long)machine->resources.disk_mb);
	if (shell_run(p, machine->id, &program, err) < 0)
		return FAIL_CONTEXT(err, "a disk of %s MiB", size);
	return 0;
}

static int save_machine(struct provider *p, const struct sandbox_spec *machine,
                        const struct microvm_image *image, int64_t deadline, struct error *err)
{
	const struct machine_start start = {.spec = machine,
	                                    .mode = MACHINE_IMAGE,
	                                    .has_kvm = image->has_kvm,
	                                    .deadline = deadline};
	static const char *const words[] = {"save", MICROVM_SAVED, NULL};

	if (microvm_machine_start(p, &start, err) < 0)
		return -1;
	return microvm_control(p, machine->id, words, deadline, err);
}

static int fill_shell(struct provider *p, const struct sandbox_spec *machine,
                      const struct microvm_image *image, int64_t deadline, struct error *err)
{
	if (shell_write_parts(p, machine->id, deadline, err) < 0 ||
	    shell_write_file(p, machine->id, MICROVM_KEY, span_of(image->key), deadline, err) < 0 ||
	    make_disk(p, machine, deadline, err) < 0)
		return -1;
	return image->has_memory ? save_machine(p, machine, image, deadline, err) : 0;
}

/* On the disk when this returns: a half-written image would be taken for a whole one. */
static int keep_shell(struct provider *p, const struct sandbox_spec *machine,
                      const struct microvm_image *image, int64_t deadline, struct error *err)
{
	struct provider *shells = as_microvm(p)->shells;
	const struct provider_snapshot request = {machine->id, image->id, .sync = true};
	struct provider_snapshot_made ignored;

	if (broker_provider_stop(shells, machine->id, 0, deadline, err) < 0)
		return -1;
	return broker_snapshots.take(shells, &request, deadline, &ignored, err);
}

int microvm_image_make(struct provider *p, const struct sandbox_spec *spec,
                       const struct microvm_image *image, int64_t deadline, struct error *err)
{
	const struct id id = microvm_hidden_id();
	const struct sandbox_spec machine = {.id = id.text,
	                                     .hostname = "machine",
	                                     .template_dir = spec->template_dir,
	                                     .resources = spec->resources,
	                                     .network = SANDBOX_NETWORK_BLOCKED};

	if (make_shell(p, &machine, image, deadline, err) < 0)
		return -1;
	int status = fill_shell(p, &machine, image, deadline, err) < 0 ||
	                             keep_shell(p, &machine, image, deadline, err) < 0
	                     ? -1
	                     : 0;
	(void)broker_provider_destroy(as_microvm(p)->shells, id.text, deadline_after(CLEAN_UP_MS),
	                              &(struct error){0});
	return status;
}
