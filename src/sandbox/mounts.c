/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/path.h"
#include "sandbox/sandbox.h"

/* Paths that the set-up of a sandbox, its users or its programs depend on. */
static const struct system_place {
	const char *path;
	bool below; /* paths below it are refused, too */
} system_places[] = {
        {"/bin", true},   {"/boot", true},  {"/dev", true},    {"/etc", true},   {"/lib", true},
        {"/lib32", true}, {"/lib64", true}, {"/libx32", true}, {"/proc", true},  {"/run", true},
        {"/sbin", true},  {"/sys", true},   {"/usr", true},    {"/home", false}, {"/mnt", false},
        {"/opt", false},  {"/srv", false},  {"/tmp", false},   {"/var", false},  {"/var/run", true},
};
/* Below /usr, but what programs install and keep there themselves. */
static const char *const own_places[] = {"/usr/src/", "/usr/local/share/", "/usr/local/cargo/",
                                         "/usr/local/go/", "/usr/local/lib/node_modules/"};

static bool is_own_place(const char *path)
{
	for (size_t i = 0; i < COUNT_OF(own_places); i++)
		if (strncmp(path, own_places[i], strlen(own_places[i])) == 0)
			return true;
	return false;
}

/* Whether `path` is `folder` or lies below it. */
static bool is_within(const char *path, const char *folder)
{
	size_t size = strlen(folder);

	return strncmp(path, folder, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

static int refuse_path(const char *path, struct error *err)
{
	error_set(err, ERROR_INVALID, 0, HERE, "'%.80s' is not a path for a volume", path);
	return FAIL_HINT(err,
	                 "an absolute path of at most %d bytes, without '..', such as /workspace",
	                 SANDBOX_MOUNT_PATH_MAX);
}

static bool are_names(const char *path)
{
	struct span rest = span_of(path), part;
	bool is_last;

	do {
		is_last = !span_split(&rest, '/', &part);
		if (!path_name_is_valid(part) || !span_is_utf8(part))
			return false;
		for (size_t i = 0; i < part.size; i++)
			if ((unsigned char)part.data[i] < ' ' || part.data[i] == 0x7f)
				return false;
	} while (!is_last);
	return true;
}

int sandbox_mount_path_check(const char *path, struct error *err)
{
	if (path[0] != '/' || strnlen(path, SANDBOX_MOUNT_PATH_MAX + 1) > SANDBOX_MOUNT_PATH_MAX ||
	    !are_names(path + 1))
		return refuse_path(path, err);
	if (is_own_place(path))
		return 0;
	for (size_t i = 0; i < COUNT_OF(system_places); i++) {
		const struct system_place *place = &system_places[i];

		if (place->below ? is_within(path, place->path) : strcmp(path, place->path) == 0)
			return FAIL(err, ERROR_INVALID,
			            "'%s' belongs to the sandbox's system; a volume cannot be "
			            "mounted there",
			            path);
	}
	return 0;
}

int sandbox_mount_subpath_check(const char *subpath, struct error *err)
{
	if (strnlen(subpath, SANDBOX_MOUNT_PATH_MAX + 1) <= SANDBOX_MOUNT_PATH_MAX &&
	    are_names(subpath))
		return 0;
	error_set(err, ERROR_INVALID, 0, HERE, "'%.80s' is not a folder of a volume", subpath);
	return FAIL_HINT(err,
	                 "a relative path of at most %d bytes, without '..', such as users/alice",
	                 SANDBOX_MOUNT_PATH_MAX);
}

static int check_pair(const struct sandbox_mount *a, const struct sandbox_mount *b,
                      struct error *err)
{
	if (is_within(a->path, b->path) || is_within(b->path, a->path))
		return FAIL(err, ERROR_CONFLICT, "a volume at '%s' and one at '%s' would overlap",
		            b->path, a->path);
	if (strcmp(a->volume_id, b->volume_id) == 0)
		return FAIL(err, ERROR_CONFLICT, "the volume at '%s' is at '%s' already", a->path,
		            b->path);
	return 0;
}

int sandbox_mounts_check(const struct sandbox_mount *mounts, size_t count, struct error *err)
{
	if (count > SANDBOX_MOUNTS_MAX)
		return FAIL(err, ERROR_LIMIT, "a sandbox has at most %d volumes",
		            SANDBOX_MOUNTS_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *subpath = mounts[i].subpath;

		if (sandbox_mount_path_check(mounts[i].path, err) < 0 ||
		    (subpath && subpath[0] && sandbox_mount_subpath_check(subpath, err) < 0))
			return -1;
		for (size_t j = 0; j < i; j++)
			if (check_pair(&mounts[i], &mounts[j], err) < 0)
				return -1;
	}
	return 0;
}
