/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/broker_load.h"

#include <stdatomic.h>

static atomic_int waiting;

void broker_load_add(int calls)
{
	atomic_fetch_add_explicit(&waiting, calls, memory_order_relaxed);
}

unsigned broker_load_get(void)
{
	int count = atomic_load_explicit(&waiting, memory_order_relaxed);

	return count > 0 ? (unsigned)count : 0;
}
