/* SPDX-License-Identifier: Apache-2.0 */
#include "server_backup/manifest.h"

#include <string.h>

#include "json/json.h"
#include "server_backup/options.h"

static const struct json_member manifest_shape_members[] = {
        JSON_TEXT_MEMBER(server_manifest, format, .flags = JSON_REQUIRED),
        JSON_WHOLE_MEMBER(server_manifest, version, .flags = JSON_REQUIRED),
        JSON_TEXT_MEMBER(server_manifest, atoll),
        JSON_TIME_MEMBER(server_manifest, made_at),
        JSON_TEXT_MEMBER(server_manifest, node),
        JSON_TEXT_MEMBER(server_manifest, place),
        JSON_WHOLE_MEMBER(server_manifest, uid, .flags = JSON_REQUIRED),
        JSON_WHOLE_MEMBER(server_manifest, gid, .flags = JSON_REQUIRED),
        JSON_WHOLE_MEMBER(server_manifest, sandboxes),
        JSON_WHOLE_MEMBER(server_manifest, snapshots),
        JSON_WHOLE_MEMBER(server_manifest, volumes),
        JSON_TEXT_LIST_MEMBER(server_manifest, outside),
};
/* A newer program of the same version may add members. */
static JSON_OPEN_SHAPE(manifest_shape, "ServerBackup", server_manifest, "A backup of a server");

void server_manifest_write(const struct server_manifest *m, struct buf *out)
{
	json_write(out, &manifest_shape, m);
}

int server_manifest_parse(struct arena *a, struct span text, struct server_manifest *ret,
                          struct error *err)
{
	if (json_parse(a, text, &manifest_shape, ret, err) < 0)
		return FAIL_CONTEXT(err, "not a backup of a server: its manifest");
	if (strcmp(ret->format, BACKUP_SERVER_FORMAT) != 0)
		return FAIL(err, ERROR_INVALID, "not a backup of a server but '%.60s'",
		            ret->format);
	if (ret->version <= BACKUP_SERVER_VERSION)
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "the backup has version %lld of the format, this program knows up to %d",
	           (long long)ret->version, BACKUP_SERVER_VERSION);
	return FAIL_HINT(err, "it was made by Atoll %.40s: install that or a newer one",
	                 ret->atoll ? ret->atoll : "?");
}
