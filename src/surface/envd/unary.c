/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/envd/unary.h"

#include <stdlib.h>
#include <string.h>

#include "surface/envd/envd.h"

static const struct unary_method *find_method(const char *path)
{
	static const struct unary_method *const tables[] = {filesystem_methods, process_methods,
	                                                    watcher_methods};

	for (size_t i = 0; i < COUNT_OF(tables); i++)
		for (const struct unary_method *m = tables[i]; m->path; m++)
			if (strcmp(m->path, path) == 0)
				return m;
	abort(); /* every route row has a method */
}

static int run_method(struct request *rq, struct reply *reply, struct api_target *t,
                      UNUSED const void *body, struct error *err)
{
	const struct unary_method *method = find_method(rq->route->path);
	struct unary_call c = {.rq = rq, .reply = reply, .target = t};

	if (request_may_block(rq, err) < 0 || envd_read_json(rq, &c.body, err) < 0 ||
	    (method->as_user && envd_user_find(rq, t, NULL, &c.user, err) < 0))
		return -1;
	c.out = reply_buf(reply, "application/json");
	if (method->call(&c, err) == 0)
		return 0;
	if (method->as_user)
		envd_error_translate(err);
	return -1;
}

int unary_handle(struct request *rq, UNUSED const void *body, struct reply *reply,
                 struct error *err)
{
	return envd_call_run(rq, reply, &(struct envd_call){envd_target_open, run_method}, err);
}
