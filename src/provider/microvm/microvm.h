/* SPDX-License-Identifier: Apache-2.0 */
/* provider/microvm/microvm.h — the provider that runs each sandbox as a virtual machine. Private to
 * this folder.
 *
 * The virtual machine is QEMU, which runs in a native sandbox of its own: the shell. So what breaks
 * out of the machine is still in a native sandbox, with its limits and its network rules. The
 * broker keeps and lists the shells, by the id of the sandbox.
 *
 * The files of a shell lie below MICROVM_DIR, on top of an image (image.h), which all machines of
 * one template and size share. QEMU writes a disk of its own, which holds what differs from the
 * image's, and maps the image's memory copy-on-write.
 *
 * The agent is process 1 of the machine (agent/machine.h). QEMU listens on the loopback interface
 * of the shell and passes each connection to the agent's listener. */
#pragma once

#include "base/bytes.h"
#include "provider/kind_options.h"
#include "provider/kinds.h"

struct agent_links;
struct microvm_accelerator;
struct microvm_images;

#define MICROVM_QEMU "/usr/bin/qemu-system-x86_64"
#define MICROVM_DIR "/machine"
#define MICROVM_KERNEL MICROVM_DIR "/kernel"
#define MICROVM_MEMORY_DISK MICROVM_DIR "/memory-disk"
#define MICROVM_PROGRAM MICROVM_DIR "/atoll-machine"
#define MICROVM_LIBRARY MICROVM_DIR "/atoll-guest-memory.so"
#define MICROVM_DISK MICROVM_DIR "/disk" /* of this machine, on top of the file "base" */
#define MICROVM_MONITOR MICROVM_DIR "/run/monitor"
#define MICROVM_KEY MICROVM_DIR "/key"     /* of the image, a text */
#define MICROVM_SAVED MICROVM_DIR "/saved" /* memory of the image, by atoll-machine */
#define MICROVM_KEPT MICROVM_DIR "/kept"   /* memory of this machine; see kept.h */

/* What a machine boots, and what works beside QEMU. Whole files, read once. */
struct microvm_boot {
	struct buf kernel, memory_disk, program, library;
	uint64_t digest; /* of all of them */
};
MUST_CHECK int microvm_boot_load(const struct microvm_options *options, struct microvm_boot *ret,
                                 struct error *err);
void microvm_boot_done(struct microvm_boot *boot);

struct microvm_provider {
	struct provider base;
	struct provider *shells; /* the native provider */
	const char *data_dir;
	struct microvm_boot boot;
	struct microvm_images *images;
	struct microvm_accelerator *accelerator;
	struct agent_links *links;
	int kept_fd; /* see kept.h */
};

static inline struct microvm_provider *as_microvm(struct provider *p)
{
	return (struct microvm_provider *)p;
}

/* The shell of a sandbox: its limits are the machine's and what QEMU needs. */
struct sandbox_spec microvm_shell_of(const struct sandbox_spec *spec, bool has_kvm);
