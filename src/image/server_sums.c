/* SPDX-License-Identifier: Apache-2.0 */
#include "image/server_sums.h"

#include <archive.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/json.h"
#include "json/write.h"

/* "data/volumes/x" belongs to "volumes", "data/admin.key" to "data". */
static struct span part_name(const char *path)
{
	struct span rest = span_of(path), top, name;

	(void)span_split(&rest, '/', &top);
	return span_split(&rest, '/', &name) && rest.size > 0 ? name : top;
}

static int find_part(struct server_sums *s, const char *path, struct error *err)
{
	struct server_contents *c = &s->contents;
	struct span name = part_name(path);
	unsigned i = 0;

	while (i < c->count && !span_equals_text(name, c->parts[i].name))
		i++;
	if (i == c->count) {
		if (i == SERVER_PARTS_MAX || name.size >= sizeof(c->parts[i].name))
			return FAIL(err, ERROR_INVALID, "'%.80s' belongs to no part of a server",
			            path);
		memcpy(c->parts[i].name, name.data, name.size);
		(void)crypto_hash_sha256_init(&s->states[i]);
		c->count++;
	}
	s->current = i;
	return 0;
}

static void add_bytes(struct server_sums *s, const void *bytes, size_t size)
{
	(void)crypto_hash_sha256_update(&s->states[s->current], bytes, size);
}

static void PRINTF(2, 3) add_text(struct server_sums *s, const char *format, ...)
{
	char text[160];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	add_bytes(s, text, (size_t)size + 1);
}

struct sums_attribute {
	const char *name;
	const void *value;
	size_t size;
};

static int compare_attributes(const void *a, const void *b)
{
	return strcmp(((const struct sums_attribute *)a)->name,
	              ((const struct sums_attribute *)b)->name);
}

/* The reader gets them in another order. */
static int add_attributes(struct server_sums *s, struct archive_entry *entry, struct error *err)
{
	struct sums_attribute list[SERVER_ATTRIBUTES_MAX];
	unsigned count = 0;

	(void)archive_entry_xattr_reset(entry);
	while (count < COUNT_OF(list) &&
	       archive_entry_xattr_next(entry, &list[count].name, &list[count].value,
	                                &list[count].size) == ARCHIVE_OK)
		count++;
	if (archive_entry_xattr_count(entry) > (int)count)
		return FAIL(err, ERROR_INVALID, "'%.80s' has more than %d attributes",
		            archive_entry_pathname(entry), SERVER_ATTRIBUTES_MAX);
	qsort(list, count, sizeof(list[0]), compare_attributes);
	for (unsigned i = 0; i < count; i++) {
		add_bytes(s, list[i].name, strlen(list[i].name) + 1);
		add_text(s, "%zu", list[i].size);
		add_bytes(s, list[i].value, list[i].size);
	}
	return 0;
}

int server_sums_entry(struct server_sums *s, struct archive_entry *entry, struct error *err)
{
	const char *path = archive_entry_pathname(entry), *link = archive_entry_hardlink(entry);
	size_t size = strlen(path);

	if (find_part(s, path, err) < 0)
		return -1;
	s->contents.entries++;
	s->contents.parts[s->current].entries++;
	s->offset = 0;
	/* A reader sees a folder's name with "/" at the end. */
	while (size > 0 && path[size - 1] == '/')
		size--;
	add_text(s, "%zu", size);
	add_bytes(s, path, size);
	if (link) {
		add_bytes(s, link, strlen(link) + 1);
		return 0;
	}
	add_text(s, "%o %o %" PRId64 " %" PRId64 " %" PRId64 ".%ld", archive_entry_filetype(entry),
	         archive_entry_perm(entry), (int64_t)archive_entry_uid(entry),
	         (int64_t)archive_entry_gid(entry), (int64_t)archive_entry_mtime(entry),
	         archive_entry_mtime_nsec(entry));
	if (archive_entry_filetype(entry) == AE_IFREG)
		add_text(s, "%" PRId64, (int64_t)archive_entry_size(entry));
	if (archive_entry_filetype(entry) == AE_IFLNK) {
		link = archive_entry_symlink(entry);
		add_bytes(s, link ? link : "", link ? strlen(link) + 1 : 1);
	}
	return add_attributes(s, entry, err);
}

void server_sums_data(struct server_sums *s, int64_t offset, struct span bytes)
{
	if (bytes.size == 0)
		return;
	if (offset != s->offset)
		add_text(s, "@%" PRId64, offset);
	add_bytes(s, bytes.data, bytes.size);
	s->offset = offset + (int64_t)bytes.size;
	s->contents.bytes += (int64_t)bytes.size;
	s->contents.parts[s->current].bytes += (int64_t)bytes.size;
}

void server_sums_end(struct server_sums *s)
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	for (unsigned i = 0; i < s->contents.count; i++) {
		struct server_part *p = &s->contents.parts[i];

		(void)crypto_hash_sha256_final(&s->states[i], hash);
		(void)sodium_bin2hex(p->sha256, sizeof(p->sha256), hash, sizeof(hash));
	}
}

void server_sums_write(const struct server_sums *s, struct buf *out)
{
	json_begin_object(out, NULL);
	json_begin_list(out, "parts");
	for (unsigned i = 0; i < s->contents.count; i++) {
		const struct server_part *p = &s->contents.parts[i];

		json_begin_object(out, NULL);
		json_add_text(out, "name", p->name);
		json_add_whole(out, "entries", p->entries);
		json_add_whole(out, "bytes", p->bytes);
		json_add_text(out, "sha256", p->sha256);
		json_end_object(out);
	}
	json_end_list(out);
	json_end_object(out);
}

int server_sums_compare(const struct server_sums *s, struct span text, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *end, *parts;

	if (json_load(&arena, text, &end, err) < 0)
		return -1;
	parts = json_get(end, "parts");
	if (json_count(parts) != s->contents.count)
		return FAIL(err, ERROR_INVALID, "the backup has %u parts instead of %zu",
		            s->contents.count, json_count(parts));
	for (unsigned i = 0; i < s->contents.count; i++) {
		const struct server_part *p = &s->contents.parts[i];
		const struct json_value *said = json_item_at(parts, i);

		if (strcmp(json_get_text(said, "name", ""), p->name) != 0 ||
		    json_get_whole(said, "entries", -1) != p->entries ||
		    json_get_whole(said, "bytes", -1) != p->bytes ||
		    strcmp(json_get_text(said, "sha256", ""), p->sha256) != 0)
			return FAIL(err, ERROR_INVALID,
			            "the part '%s' of the backup was altered: its counts or its "
			            "digest differ",
			            p->name);
	}
	return 0;
}
