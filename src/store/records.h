/* SPDX-License-Identifier: Apache-2.0 */
/* store/records.h — the rows of the nouns in store/store.h. */
#pragma once

#include "store/keys.h"
#include "store/projects.h"
#include "store/sandbox_record.h"
#include "store/templates.h"
