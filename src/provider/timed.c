/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/timed.h"

#include <stdlib.h>

#include "trace/timing.h"

struct provider_timed {
	struct timed_call call;
	const struct trace_span *outer;
};

struct provider_timed *provider_timed_begin(const char *operation)
{
	struct provider_timed *t = memory_new(sizeof(*t));

	timed_begin(&t->call, TRACE_PROVIDER, operation);
	/* An outgoing call of a trace that is not sampled carries the ids of the request. */
	t->outer = trace_current();
	if (t->call.span.is_known)
		(void)trace_swap(&t->call.span);
	return t;
}

int provider_timed_end(struct provider_timed *t, int result, const struct error *err)
{
	(void)trace_swap(t->outer);
	timed_end(&t->call, result < 0 ? err : NULL);
	free(t);
	return result;
}
