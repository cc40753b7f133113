/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemons that speak the Engine API do in different ways. Podman is 4.3. */
#include "provider/docker/docker.h"

#include <string.h>

#include "json/json.h"

static const struct docker_dialect dialects[] = {
        {.name = "docker",
         .component = "Engine",
         .has_id = true,
         .has_update = true,
         .has_icc = true},
        /* Its id is another one in each answer. */
        {.name = "podman", .component = "Podman Engine"},
};

static bool has_component(const struct json_value *version, const char *name)
{
	const struct json_value *components = json_get(version, "Components");

	for (size_t i = 0; i < json_count(components); i++)
		if (strcmp(json_get_text(json_item_at(components, i), "Name", ""), name) == 0)
			return true;
	return false;
}

int docker_find_dialect(struct provider *p, int64_t deadline, const struct docker_dialect **ret,
                        struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct docker_call call = {.method = "GET", .path = "/version", .deadline = deadline};
	const struct json_value *root;

	if (docker_engine_load(as_docker(p)->engine, &call, &arena, &root, err) < 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(dialects); i++)
		if (has_component(root, dialects[i].component)) {
			*ret = &dialects[i];
			return 0;
		}
	(void)FAIL(err, ERROR_UNSUPPORTED, "the daemon is neither Docker nor Podman");
	return FAIL_HINT(err, "docker_host names the socket of one of them");
}
