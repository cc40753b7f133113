/* SPDX-License-Identifier: Apache-2.0 */
/* store/store.h — the database and the nouns that most of its callers use. A file that needs a
 * single noun includes that noun's header instead. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "sandbox/sandbox.h"
#include "store/database.h"
#include "store/keys.h"
#include "store/projects.h"
#include "store/sandboxes.h"
#include "store/templates.h"
