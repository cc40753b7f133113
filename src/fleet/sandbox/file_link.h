/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/file_link.h — links by which one file of a sandbox can be downloaded without a key,
 * for a short time.
 *
 * A link is signed and complete; nothing is stored. All servers of a database accept it, because
 * they sign with the same key. It names sandbox, path and user, so a change of any of them breaks
 * it. A file that is replaced inside meanwhile is downloaded as it is then. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct fleet;
struct sandbox_record;

#define FLEET_FILE_LINK_MAX_S 3600
#define FLEET_FILE_LINK_USUAL_S 300
#define FLEET_FILE_LINK_TEXT_MAX 64 /* of a signature, with NUL */

struct fleet_file_link {
	const char *path, *user; /* absolute path; the user that reads the file */
	int64_t expires_at;      /* unix seconds */
};
void fleet_file_link_sign(const struct fleet *fleet, const struct sandbox_record *r,
                          const struct fleet_file_link *link, char ret[FLEET_FILE_LINK_TEXT_MAX]);
/* ERROR_UNAUTHENTICATED for a wrong signature and for an expired link, by the same text. */
MUST_CHECK int fleet_file_link_check(const struct fleet *fleet, const struct sandbox_record *r,
                                     const struct fleet_file_link *link, const char *signature,
                                     int64_t now_ms, struct error *err);
/* The same error, for a link to a sandbox that does not exist. */
MUST_CHECK int fleet_file_link_refuse(struct error *err);
