/* SPDX-License-Identifier: Apache-2.0 */
/* blob/local/local.h — blobs as files of a folder, possibly on a network disk that several servers
 * share.
 *
 * An incomplete blob is a file .new-RANDOM that its writer locks. Completion links it to its name,
 * which fails if the name is taken. Starts and blob_tidy remove unlocked files: their writers are
 * gone. A child of the broker that writes holds the lock, too, and may outlive the server. */
#pragma once

#include "blob/blob.h"

extern const struct blob_ops blob_local;
