/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/enclosure_config.h"

#include "base/bytes.h"
#include "isolation/ids.h"
#include "isolation/plan.h"

/* As in capabilities.c, by name. gVisor's kernel grants them, not the host's. */
#define CAPABILITIES                                                                               \
	"[\"CAP_CHOWN\",\"CAP_DAC_OVERRIDE\",\"CAP_FOWNER\",\"CAP_FSETID\",\"CAP_KILL\","          \
	"\"CAP_SETGID\",\"CAP_SETUID\",\"CAP_SETPCAP\",\"CAP_NET_BIND_SERVICE\","                  \
	"\"CAP_SYS_CHROOT\",\"CAP_SETFCAP\"]"
#define NOFILE_MAX 16384

/* Without a network gVisor makes a user namespace of its own. With one it would run as root of the
 * sandbox's user namespace, with power over the agent and its own file server: so each of its two
 * parts gets a further namespace with the same ids. */
static const char *format_user_namespace(struct arena *a, const struct isolation_spec *spec)
{
	const char *map;

	if (!spec->internet)
		return "]";
	map = arena_format(a, "[{\"containerID\":0,\"hostID\":0,\"size\":%u}]", ID_COUNT);
	return arena_format(a, ",{\"type\":\"user\"}],\"uidMappings\":%s,\"gidMappings\":%s", map,
	                    map);
}

/* The broker has checked that the path has no control characters and is UTF-8. */
static void add_path(struct buf *out, const char *path)
{
	for (; *path; path++) {
		if (*path == '"' || *path == '\\')
			buf_add_text(out, "\\");
		buf_add(out, path, 1);
	}
}

/* What the kernel mounted read-only stays so: gVisor need not know. */
static const char *format_volumes(struct arena *a, const struct isolation_spec *spec)
{
	AUTO(buf_done) struct buf out = BUF(STEP_SOURCE_MAX);

	for (unsigned i = 0; i < spec->volume_count; i++) {
		buf_add_text(&out, ",{\"type\":\"bind\",\"destination\":\"");
		add_path(&out, spec->volume_paths[i]);
		buf_addf(&out, "\",\"source\":\"" ENCLOSURE_VOLUMES "/%u\"}", i);
	}
	return arena_copy(a, buf_span(&out));
}

/* The broker has checked the host name, so it needs no escapes. */
const char *enclosure_config(struct arena *a, const struct isolation_spec *spec)
{
	return arena_format(
	        a,
	        "{\"ociVersion\":\"1.0.2\",\"hostname\":\"%s\",\"root\":{\"path\":\"rootfs\"},"
	        "\"process\":{\"user\":{\"uid\":0,\"gid\":0},\"cwd\":\"/\",\"noNewPrivileges\":%s,"
	        "\"args\":[\"" ENCLOSURE_AGENT "\",\"--handed-fd\",\"0\"],"
	        "\"env\":[\"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\"],"
	        "\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"hard\":%d,\"soft\":%d}],"
	        "\"capabilities\":{\"bounding\":%s,\"effective\":%s,\"permitted\":%s}},"
	        "\"mounts\":[{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
	        "{\"destination\":\"/dev/shm\",\"type\":\"tmpfs\",\"source\":\"tmpfs\"}%s],"
	        "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"mount\"},"
	        "{\"type\":\"ipc\"},{\"type\":\"uts\"}%s}}",
	        spec->hostname, spec->no_privileges ? "true" : "false", NOFILE_MAX, NOFILE_MAX,
	        CAPABILITIES, CAPABILITIES, CAPABILITIES, format_volumes(a, spec),
	        format_user_namespace(a, spec));
}
