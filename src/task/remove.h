/* SPDX-License-Identifier: Apache-2.0 */
/* task/remove.h — deletes files that sandboxes made. No link is followed. */
#pragma once

#include <dirent.h>

#include "base/error.h"

/* Deletes a folder or a file with everything in it. Does nothing when it is missing. */
MUST_CHECK int remove_tree(int folder, const char *name, struct error *err);
/* Deletes what is in the folder. `spared`: a name that stays, or NULL. */
MUST_CHECK int remove_entries(DIR *folder, const char *spared, struct error *err);
