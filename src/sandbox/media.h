/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/media.h — the media type of a file, by its name and its first bytes. Pure.
 *
 * The sandbox controls both, so the type is not trusted: a reply that sends a file to a browser
 * always says "attachment" and "nosniff". */
#pragma once

#include "base/bytes.h"

/* Number of first bytes that are enough to decide. */
#define MEDIA_HEAD_SIZE 4096

#define MEDIA_BYTES "application/octet-stream"

/* By the file name's extension; MEDIA_BYTES if it is unknown. */
const char *media_type_of_name(const char *path);
/* By name and contents. A known signature decides; an extension whose type requires a signature is
 * ignored if the signature is missing. `head` is the file's beginning, or all of it. */
const char *media_type_of(const char *path, struct span head);
