/* SPDX-License-Identifier: Apache-2.0 */
/* store/accounts.h — projects and the nouns that administer them. */
#pragma once

#include "store/configs.h"
#include "store/keys.h"
#include "store/members.h"
#include "store/projects.h"
#include "store/store.h"
