/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel and its initial memory disk: an archive in the kernel's own format (cpio, "newc"). */
#include "provider/microvm/microvm.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define KERNEL_PREFIX "vmlinuz-"
#define KERNEL_MAX (64 << 20)
#define ARCHIVE_MAX (64 << 20)
#define FILE_SIZE_MAX (32 << 20)

/* In the order in which they need one another. */
static const char *const modules[] = {
        "drivers/virtio/virtio_ring", "drivers/virtio/virtio", "drivers/virtio/virtio_mmio",
        "drivers/block/virtio_blk",   "net/core/failover",     "drivers/net/net_failover",
        "drivers/net/virtio_net",
};

static int is_kernel(const struct dirent *entry)
{
	return strncmp(entry->d_name, KERNEL_PREFIX, strlen(KERNEL_PREFIX)) == 0;
}

static int find_kernel(const char *folder, char ret_version[256], struct error *err)
{
	char path[PATH_SIZE_MAX];
	struct dirent **entries;

	(void)snprintf(path, sizeof(path), "%.3000s/boot", folder);
	int count = scandir(path, &entries, is_kernel, versionsort);
	if (count > 0)
		(void)snprintf(ret_version, 256, "%s",
		               entries[count - 1]->d_name + strlen(KERNEL_PREFIX));
	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
	if (count > 0)
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED, "provider 'microvm' finds no kernel in '%s'", path);
	return FAIL_HINT(err, "install linux-image-cloud-amd64, or name the folder that its "
	                      "package is unpacked in with the option microvm_kernel");
}

static void pad_to_four(struct buf *out)
{
	while (out->size % 4 != 0 && !out->overflowed)
		buf_add(out, "", 1);
}

static void add_entry(struct buf *out, const char *name, unsigned mode, struct span content)
{
	buf_addf(out, "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x", 0u, mode, 0u,
	         0u, 1u, 0u, content.size, 0u, 0u, 0u, 0u, strlen(name) + 1, 0u);
	buf_add(out, name, strlen(name) + 1);
	pad_to_four(out);
	buf_add_span(out, content);
	pad_to_four(out);
}

static int add_file(struct buf *out, const char *name, const char *path, struct error *err)
{
	AUTO(buf_done) struct buf content = BUF(FILE_SIZE_MAX);

	if (file_read(AT_FDCWD, path, &content, err) < 0)
		return -1;
	add_entry(out, name, S_IFREG | 0755, buf_span(&content));
	return 0;
}

static int add_modules(struct buf *out, const char *folder, const char *version, struct error *err)
{
	char path[PATH_SIZE_MAX], name[64];

	add_entry(out, "modules", S_IFDIR | 0755, (struct span){NULL, 0});
	for (size_t i = 0; i < COUNT_OF(modules); i++) {
		(void)snprintf(path, sizeof(path), "%.3000s/lib/modules/%s/kernel/%s.ko", folder,
		               version, modules[i]);
		(void)snprintf(name, sizeof(name), "modules/%02zu", i);
		if (add_file(out, name, path, err) < 0)
			return -1;
	}
	return 0;
}

static int load_kernel(const char *folder, struct microvm_boot *ret, const char *agent,
                       struct error *err)
{
	char version[256], path[PATH_SIZE_MAX];
	struct buf *disk = &ret->memory_disk;

	if (find_kernel(folder, version, err) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%.3000s/boot/" KERNEL_PREFIX "%s", folder, version);
	add_entry(disk, "dev", S_IFDIR | 0755, (struct span){NULL, 0});
	if (file_read(AT_FDCWD, path, &ret->kernel, err) < 0 ||
	    add_modules(disk, folder, version, err) < 0 || add_file(disk, "init", agent, err) < 0)
		return -1;
	add_entry(disk, "TRAILER!!!", 0, (struct span){NULL, 0});
	return disk->overflowed ? FAIL(err, ERROR_TOO_LARGE, "the initial memory disk is too large")
	                        : 0;
}

/* Both lie beside the agent's program. */
static int load_programs(const char *agent, struct microvm_boot *ret, struct error *err)
{
	char path[PATH_SIZE_MAX];
	const char *slash = strrchr(agent, '/');
	int folder = slash ? (int)(slash - agent) : 0;

	(void)snprintf(path, sizeof(path), "%.*s/atoll-machine", folder, agent);
	if (file_read(AT_FDCWD, path, &ret->program, err) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%.*s/atoll-guest-memory.so", folder, agent);
	return file_read(AT_FDCWD, path, &ret->library, err);
}

static uint64_t digest_of(const struct microvm_boot *boot)
{
	const struct buf *parts[] = {&boot->kernel, &boot->memory_disk, &boot->program,
	                             &boot->library};
	crypto_generichash_state state;
	uint64_t digest;

	(void)crypto_generichash_init(&state, NULL, 0, sizeof(digest) * 2);
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		(void)crypto_generichash_update(&state, (const unsigned char *)parts[i]->data,
		                                parts[i]->size);
	unsigned char hash[sizeof(digest) * 2];
	(void)crypto_generichash_final(&state, hash, sizeof(hash));
	memcpy(&digest, hash, sizeof(digest));
	return digest;
}

int microvm_boot_load(const struct microvm_options *options, struct microvm_boot *ret,
                      struct error *err)
{
	*ret = (struct microvm_boot){.kernel = BUF(KERNEL_MAX),
	                             .memory_disk = BUF(ARCHIVE_MAX),
	                             .program = BUF(FILE_SIZE_MAX),
	                             .library = BUF(FILE_SIZE_MAX)};
	if (load_kernel(options->kernel, ret, options->program, err) < 0 ||
	    load_programs(options->program, ret, err) < 0)
		return -1;
	ret->digest = digest_of(ret);
	return 0;
}

void microvm_boot_done(struct microvm_boot *boot)
{
	buf_done(&boot->kernel);
	buf_done(&boot->memory_disk);
	buf_done(&boot->program);
	buf_done(&boot->library);
}
