/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/template/context.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/path.h"

#define ENTRIES_MAX 200000
#define DEPTH_MAX 64
#define RULES_MAX ((size_t)256 * 1024)
#define LINK_MAX 4096

_Static_assert(2 * crypto_hash_sha256_BYTES == CONTEXT_HASH_SIZE, "a SHA-256");

/* "**" matches across folders, "*" does not. */
static bool pattern_fits(const char *pattern, const char *path)
{
	char flat[PATH_SIZE_MAX];
	size_t size = 0;

	if (!strstr(pattern, "**"))
		return fnmatch(pattern, path, FNM_PATHNAME) == 0;
	/* Two stars before a slash match any number of folders, or none. */
	if (strncmp(pattern, "**/", 3) == 0 && pattern_fits(pattern + 3, path))
		return true;
	for (const char *c = pattern; *c && size + 1 < sizeof(flat); c++)
		if (*c != '*' || c[1] != '*')
			flat[size++] = *c;
	flat[size] = '\0';
	return fnmatch(flat, path, 0) == 0;
}

/* Matches the path itself or one of its parent folders. */
static bool rule_fits(const char *pattern, const char *path)
{
	char part[PATH_SIZE_MAX];
	size_t size = strlen(path);

	if (size >= sizeof(part))
		return false;
	memcpy(part, path, size + 1);
	for (;;) {
		char *slash;

		if (pattern_fits(pattern, part))
			return true;
		slash = strrchr(part, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
}

static struct span trim_line(struct span line)
{
	while (line.size > 0 && isspace((unsigned char)line.data[0])) {
		line.data++;
		line.size--;
	}
	while (line.size > 0 && isspace((unsigned char)line.data[line.size - 1]))
		line.size--;
	return line;
}

static struct span skip_prefix(struct span text, const char *prefix)
{
	while (span_starts_with(text, prefix)) {
		span_skip(&text, strlen(prefix));
	}
	return text;
}

bool ignore_matches(const char *rules, const char *path)
{
	struct span rest = span_of(rules), line;
	bool more = true, ignored = false;

	while (more) {
		char pattern[PATH_SIZE_MAX];
		bool excepts;

		more = span_split(&rest, '\n', &line);
		line = trim_line(line);
		if (line.size == 0 || line.data[0] == '#')
			continue;
		excepts = line.data[0] == '!';
		if (excepts)
			line = trim_line((struct span){line.data + 1, line.size - 1});
		line = skip_prefix(skip_prefix(line, "/"), "./");
		while (line.size > 0 && line.data[line.size - 1] == '/')
			line.size--;
		if (line.size == 0 || line.size >= sizeof(pattern))
			continue;
		memcpy(pattern, line.data, line.size);
		pattern[line.size] = '\0';
		if (rule_fits(pattern, path))
			ignored = !excepts;
	}
	return ignored;
}

struct context_walk {
	struct context *context;
	const char *rules;
	bool has_exceptions; /* an ignored folder may contain files that are not ignored */
};

static int add_entry(struct context_walk *w, const struct context_entry *entry, struct error *err)
{
	struct context *c = w->context;

	if (c->count == ENTRIES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d files; see .atollignore",
		            ENTRIES_MAX);
	c->entries = memory_grow(c->entries, c->count, &c->capacity, sizeof(*c->entries));
	c->entries[c->count++] = *entry;
	return 0;
}

static int walk_folder(struct context_walk *w, int fd, const char *path, unsigned depth,
                       struct error *err);

static int walk_subfolder(struct context_walk *w, int folder, const struct context_entry *entry,
                          unsigned depth, struct error *err)
{
	int fd = openat(folder, path_last(entry->path),
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", entry->path);
	return walk_folder(w, fd, entry->path, depth + 1, err);
}

static int visit_entry(struct context_walk *w, int folder, const char *path, unsigned depth,
                       struct error *err)
{
	struct context_entry entry = {.path = path, .link = ""};
	bool ignored = ignore_matches(w->rules, path);
	char link[LINK_MAX];
	struct stat st;
	ssize_t size;

	if (fstatat(folder, path_last(path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "look at '%s'", path);
	entry.mode = st.st_mode;
	entry.modified_s = st.st_mtime;
	entry.size = S_ISREG(st.st_mode) ? st.st_size : 0;
	if (S_ISLNK(st.st_mode)) {
		size = readlinkat(folder, path_last(path), link, sizeof(link));
		if (size < 0)
			return FAIL_ERRNO(err, "read the link '%s'", path);
		entry.link = arena_copy(&w->context->arena, (struct span){link, (size_t)size});
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
		return 0;
	if (!ignored && add_entry(w, &entry, err) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode) || (ignored && !w->has_exceptions))
		return 0;
	return walk_subfolder(w, folder, &entry, depth, err);
}

/* The listing takes the descriptor. */
static int walk_folder(struct context_walk *w, int fd, const char *path, unsigned depth,
                       struct error *err)
{
	DIR *listing = fdopendir(fd);
	struct dirent *entry;
	int result = 0;

	if (!listing) {
		(void)close(fd);
		return FAIL_ERRNO(err, "list '%s'", path);
	}
	if (depth > DEPTH_MAX)
		result = FAIL(err, ERROR_TOO_LARGE, "'%s' is deeper than %d folders", path,
		              DEPTH_MAX);
	while (result == 0 && (entry = readdir(listing))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		result = visit_entry(
		        w, dirfd(listing),
		        arena_format(&w->context->arena, "%s%s%s", path, *path ? "/" : "", name),
		        depth, err);
	}
	(void)closedir(listing);
	return result;
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct context_entry *)a)->path,
	              ((const struct context_entry *)b)->path);
}

static int read_rules(int fd, struct buf *out, struct error *err)
{
	static const char *const names[] = {".atollignore", ".dockerignore"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (file_read(fd, names[i], out, err) == 0)
			return 0;
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
	}
	return 0;
}

int context_open(struct context *c, const char *path, struct error *err)
{
	AUTO(buf_done) struct buf rules = BUF(RULES_MAX);
	struct context_walk walk = {.context = c};
	int top;

	*c = (struct context){.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	if (c->fd < 0)
		return FAIL_ERRNO(err, "open the folder '%s'", path);
	top = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
	if (top < 0)
		return FAIL_ERRNO(err, "open the folder '%s'", path);
	if (read_rules(c->fd, &rules, err) < 0) {
		(void)close(top);
		return -1;
	}
	walk.rules = buf_text(&rules);
	walk.has_exceptions = strchr(walk.rules, '!') != NULL;
	if (walk_folder(&walk, top, "", 0, err) < 0)
		return FAIL_CONTEXT(err, "context '%s'", path);
	if (c->count > 0)
		qsort(c->entries, c->count, sizeof(*c->entries), compare_entries);
	return 0;
}

void context_close(struct context *c)
{
	if (c->fd > 0)
		(void)close(c->fd);
	free(c->entries);
	arena_done(&c->arena);
	*c = (struct context){0};
}

static void add_item(struct context *c, struct context_files *files,
                     const struct context_entry *entry, const char *name)
{
	files->items = arena_grow(&c->arena, files->items, files->count, &files->capacity,
	                          sizeof(*files->items));
	files->items[files->count++] = (struct archive_item){
	        .path = entry->path,
	        .name = name,
	        .link = entry->link,
	        .mode = entry->mode,
	        .size = entry->size,
	        .modified_s = entry->modified_s,
	};
}

/* Adds the contents of the folder with names relative to it. */
static void add_content(struct context *c, struct context_files *files, const char *folder)
{
	size_t size = strlen(folder);

	for (size_t i = 0; i < c->count; i++) {
		const char *path = c->entries[i].path;

		if (size == 0)
			add_item(c, files, &c->entries[i], path);
		else if (strncmp(path, folder, size) == 0 && path[size] == '/')
			add_item(c, files, &c->entries[i], path + size + 1);
	}
}

/* Removes '/' at both ends; "." is the whole context. */
static int clean_source(struct context *c, const char *source, const char **ret, struct error *err)
{
	struct span text = skip_prefix(span_of(source), "/");

	while (text.size > 0 && text.data[text.size - 1] == '/')
		text.size--;
	if (path_check_relative(&c->arena, text, ret, err) < 0)
		return FAIL_CONTEXT(err, "source");
	return 0;
}

/* The entries that the sources match. */
struct context_matches {
	const struct context_entry **items;
	size_t count, capacity;
};

static void matches_done(struct context_matches *m)
{
	free(m->items);
}

static void add_match(struct context_matches *m, const struct context_entry *entry)
{
	m->items = memory_grow(m->items, m->count, &m->capacity, sizeof(*m->items));
	m->items[m->count++] = entry;
}

static int match_source(struct context *c, const char *source, struct context_matches *m,
                        struct error *err)
{
	static const struct context_entry all = {.path = "", .link = "", .mode = S_IFDIR};
	const char *pattern;
	size_t before = m->count;

	if (clean_source(c, source, &pattern, err) < 0)
		return -1;
	if (strcmp(pattern, ".") == 0) {
		add_match(m, &all);
		return 0;
	}
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->entries[i].path, pattern) == 0 ||
		    fnmatch(pattern, c->entries[i].path, FNM_PATHNAME) == 0)
			add_match(m, &c->entries[i]);
	if (m->count > before)
		return 0;
	return FAIL(err, ERROR_NOT_FOUND,
	            "'%s' is not in the context, or is excluded by its ignore file", pattern);
}

/* Whether the target is a folder that receives the entries; otherwise the only entry becomes the
 * target. */
static bool is_folder(const struct context_matches *m, const char *target)
{
	const char *last = path_last(target);

	return m->count != 1 || S_ISDIR(m->items[0]->mode) || !*last || strcmp(last, ".") == 0 ||
	       strcmp(last, "..") == 0 || target[strlen(target) - 1] == '/';
}

static const char *folder_of(struct arena *a, const char *target)
{
	const char *last = path_last(target);

	if (last == target)
		return ".";
	return last == target + 1
	               ? "/"
	               : arena_copy(a, (struct span){target, (size_t)(last - target - 1)});
}

static int compare_items(const void *a, const void *b)
{
	return strcmp(((const struct archive_item *)a)->name,
	              ((const struct archive_item *)b)->name);
}

int context_select(struct context *c, const char *const *sources, const char *target,
                   struct context_files *ret, struct error *err)
{
	AUTO(matches_done) struct context_matches matches = {0};

	*ret = (struct context_files){.path = target};
	for (size_t i = 0; sources[i]; i++)
		if (match_source(c, sources[i], &matches, err) < 0)
			return -1;
	if (matches.count == 0)
		return FAIL(err, ERROR_INVALID, "there is no source");
	if (!is_folder(&matches, target)) {
		ret->path = folder_of(&c->arena, target);
		add_item(c, ret, matches.items[0], path_last(target));
		return 0;
	}
	for (size_t i = 0; i < matches.count; i++) {
		if (S_ISDIR(matches.items[i]->mode))
			add_content(c, ret, matches.items[i]->path);
		else
			add_item(c, ret, matches.items[i], path_last(matches.items[i]->path));
	}
	if (ret->count > 0) /* NOLINT(clang-analyzer-unix.Malloc): AUTO frees */
		qsort(ret->items, ret->count, sizeof(*ret->items), compare_items);
	return 0;
}

static void add_text(crypto_hash_sha256_state *hash, const char *text)
{
	crypto_hash_sha256_update(hash, (const unsigned char *)text, strlen(text) + 1);
}

static int add_bytes(const struct context *c, const struct archive_item *item,
                     crypto_hash_sha256_state *hash, struct error *err)
{
	const struct fd_open_options options = {.flags = O_RDONLY | O_NOCTTY};
	unsigned char bytes[64 * 1024];
	AUTO_CLOSE int fd = -1;
	ssize_t got;

	if (fd_open_beneath(c->fd, item->path, &options, &fd, err) < 0)
		return -1;
	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		crypto_hash_sha256_update(hash, bytes, (unsigned long long)got);
	return got < 0 ? FAIL_ERRNO(err, "read '%s'", item->path) : 0;
}

int context_hash(const struct context *c, const struct context_files *files,
                 char ret[CONTEXT_HASH_SIZE + 1], struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	unsigned char digest[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state hash;

	crypto_hash_sha256_init(&hash);
	for (size_t i = 0; i < files->count; i++) {
		const struct archive_item *item = &files->items[i];

		add_text(&hash, item->name);
		add_text(&hash, arena_format(&arena, "%o %lld", item->mode, (long long)item->size));
		add_text(&hash, item->link);
		if (S_ISREG(item->mode) && add_bytes(c, item, &hash, err) < 0)
			return -1;
	}
	crypto_hash_sha256_final(&hash, digest);
	sodium_bin2hex(ret, CONTEXT_HASH_SIZE + 1, digest, sizeof(digest));
	return 0;
}
