/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/media.h — what kind of bytes a file has: by its name, and by how it begins. Pure.
 *
 * A sandbox chooses both, so neither is to be trusted: whoever shows a file to a browser says
 * "attachment" and "nosniff" whatever its type. */
#pragma once

#include "base/span.h"

/* Enough of a file's beginning to tell. */
#define MEDIA_HEAD_SIZE 4096

#define MEDIA_BYTES "application/octet-stream"

/* By the name's extension; MEDIA_BYTES for what is not known. */
const char *media_type_of_name(const char *path);
/* By both: bytes that have a signature are what it says; a name that promises one which is not
 * there is not believed. `head` is the file's beginning, or all of it. */
const char *media_type_of(const char *path, struct span head);
