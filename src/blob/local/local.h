/* SPDX-License-Identifier: Apache-2.0 */
/* blob/local/local.h — blobs as files of a folder, which may be a network's, and several servers'.
 * Private to blob.
 *
 * What is being written is .new-RANDOM, locked by its writer, and gets its name by a link, which
 * fails when the name is taken; one without a lock has lost its writer and goes at the next start.
 */
#pragma once

#include "blob/blob.h"

extern const struct blob_ops blob_local;
