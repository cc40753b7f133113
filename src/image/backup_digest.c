/* SPDX-License-Identifier: Apache-2.0 */
#include "image/backup_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "image/image.h"

#define HASH_SIZE 32
#define HOST "host"

void backup_digest_init(struct backup_digest *d)
{
	(void)crypto_generichash_init(&d->state, NULL, 0, HASH_SIZE);
}

static void add_bytes(struct backup_digest *d, const void *bytes, size_t size)
{
	(void)crypto_generichash_update(&d->state, bytes, size);
}

static void add_text(struct backup_digest *d, const char *text)
{
	add_bytes(d, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* Tar gives folders a "/" at the end. */
static void add_name(struct backup_digest *d, const char *name)
{
	size_t size = strlen(name);

	while (size > 0 && name[size - 1] == '/')
		size--;
	add_bytes(d, name, size);
	add_bytes(d, "", 1);
}

void backup_digest_entry(struct backup_digest *d, struct archive_entry *entry)
{
	const char *link = archive_entry_hardlink(entry);
	bool is_file = !link && archive_entry_filetype(entry) == AE_IFREG;
	int64_t numbers[] = {archive_entry_filetype(entry), archive_entry_perm(entry),
	                     archive_entry_uid(entry), archive_entry_gid(entry),
	                     is_file ? archive_entry_size(entry) : 0};

	add_name(d, archive_entry_pathname(entry));
	/* A hard link has no content or attributes of its own. */
	add_bytes(d, numbers, link ? 0 : sizeof(numbers));
	add_text(d, link ? link : archive_entry_symlink(entry));
}

void backup_digest_data(struct backup_digest *d, struct span bytes)
{
	add_bytes(d, bytes.data, bytes.size);
}

static void to_hex(const unsigned char hash[HASH_SIZE], char out[BACKUP_DIGEST_SIZE])
{
	(void)sodium_bin2hex(out, BACKUP_DIGEST_SIZE, hash, HASH_SIZE);
}

void backup_digest_end(struct backup_digest *d, char out[BACKUP_DIGEST_SIZE])
{
	unsigned char hash[HASH_SIZE];

	(void)crypto_generichash_final(&d->state, hash, sizeof(hash));
	to_hex(hash, out);
}

union digest_sum {
	unsigned char bytes[HASH_SIZE];
	uint64_t words[HASH_SIZE / sizeof(uint64_t)];
};

struct digest_sums {
	union digest_sum files, all;
};

/* A sum needs no order and so no list of all names. */
static void add_sum(union digest_sum *sum, const union digest_sum *one)
{
	for (size_t i = 0; i < COUNT_OF(sum->words); i++)
		sum->words[i] += one->words[i];
}

bool backup_template_lacks(const struct layers_entry *entry)
{
	return S_ISSOCK(entry->status.st_mode) || S_ISBLK(entry->status.st_mode) ||
	       S_ISCHR(entry->status.st_mode) || strncmp(entry->path, "dev/", strlen("dev/")) == 0;
}

static int add_file(void *context, const struct layers_entry *entry, struct error *err)
{
	struct digest_sums *sums = context;
	union digest_sum one;
	char link[PATH_SIZE_MAX] = "";
	bool is_folder = S_ISDIR(entry->status.st_mode);
	int64_t numbers[] = {entry->status.st_mode, entry->status.st_uid, entry->status.st_gid,
	                     is_folder ? 0 : entry->status.st_size,
	                     is_folder ? 0 : entry->status.st_mtime};
	struct backup_digest d;

	if (S_ISLNK(entry->status.st_mode) &&
	    readlinkat(entry->folder, entry->name, link, sizeof(link) - 1) < 0)
		return FAIL_ERRNO(err, "read the link '%s'", entry->path);
	backup_digest_init(&d);
	add_text(&d, entry->path);
	add_bytes(&d, numbers, sizeof(numbers));
	add_text(&d, link);
	(void)crypto_generichash_final(&d.state, one.bytes, sizeof(one.bytes));
	add_sum(&sums->all, &one);
	if (!backup_template_lacks(entry))
		add_sum(&sums->files, &one);
	return 0;
}

int backup_template_open(int templates_fd, const char *folder, int *ret_fd, struct error *err)
{
	char path[PATH_NAME_MAX];
	int fd;

	if (strcmp(folder, HOST) == 0)
		return FAIL(err, ERROR_UNSUPPORTED, "the machine itself is in no backup");
	if (image_name_check(folder, err) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/" IMAGE_ROOT, folder);
	fd = openat(templates_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return FAIL_ERRNO(err, "open template '%s'", folder);
	*ret_fd = fd;
	return 0;
}

int backup_template_digest(int templates_fd, const char *folder,
                           struct backup_template_digests *ret, struct error *err)
{
	AUTO(layers_done) struct layers layers = {.count = 0};
	struct digest_sums sums = {.files = {.words = {0}}};
	const struct layers_walk walk = {.on_entry = add_file, .context = &sums};
	int fd;

	if (strcmp(folder, HOST) == 0) {
		*ret = (struct backup_template_digests){HOST, HOST};
		return 0;
	}
	if (backup_template_open(templates_fd, folder, &fd, err) < 0)
		return -1;
	layers_init(&layers, fd);
	if (layers_walk(&layers, &walk, err) < 0)
		return FAIL_CONTEXT(err, "template '%s'", folder);
	to_hex(sums.files.bytes, ret->files);
	to_hex(sums.all.bytes, ret->all);
	return 0;
}
