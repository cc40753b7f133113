/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a template and names as E2B's clients send them: what is accepted becomes steps within
 * the limits, each with the client's number, and a name that was read reads the same again. */
#include <stdlib.h>
#include <string.h>

#include "surface/e2b/announced.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct body {
	const char *name;
	struct json_list steps;
};
static const struct json_member body_shape_members[] = {
        JSON_TEXT_MEMBER(body, name),
        JSON_LIST_MEMBER(body, steps, &e2b_step_shape),
};
static JSON_OPEN_SHAPE(body_shape, "Body", body, "A name and steps");

static void check_name(struct arena *a, const char *text)
{
	struct e2b_name first, second;
	struct error err = {0};
	uint32_t mark;
	struct id id;

	if (e2b_uuid_parse(text, &id, &mark, &err) == 0 && mark >> E2B_MARK_BITS != 0)
		abort();
	if (e2b_name_parse(a, text, &first, &err) < 0)
		return;
	if (e2b_name_parse(a, first.own, &second, &err) == 0 &&
	    strcmp(e2b_name_format(a, first.own), e2b_name_format(a, second.own)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = {0};
	struct build_spec spec = {.name = "x"};
	struct e2b_announced_build announced = {.is_started = false};
	struct error err = {0};
	struct body b;

	if (json_parse(&arena, (struct span){(const char *)data, size}, &body_shape, &b, &err) < 0)
		return 0;
	if (b.name)
		check_name(&arena, b.name);
	if (e2b_steps_read(&arena, &b.steps, &spec, &announced, &err) < 0)
		return 0;
	if (spec.steps.count > BUILD_STEPS_MAX)
		abort();
	for (size_t i = 0; i < spec.steps.count; i++)
		if (announced.step_of[i] == 0 || announced.step_of[i] > b.steps.count)
			abort();
	return 0;
}
