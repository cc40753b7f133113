/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/pool_states.h — which pools cannot be filled, as of the last look. Private to this folder.
 */
#pragma once

#include "fleet/parts.h"

struct pool_state {
	char template_id[ID_SIZE + 1], template_name[64];
	bool is_shared, is_failing; /* with an event for each change of the latter */
	struct error problem;
};
/* While pools.mutex is held: `now` takes the place of the states before. */
void pool_states_replace(struct fleet *f, const struct template_list *templates,
                         const struct pool_state *now, size_t count);
const struct pool_state *pool_state_find(const struct fleet *f, const char *template_id);
