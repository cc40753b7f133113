/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/docker/version.h"

#include <stdint.h>
#include <string.h>

#include "json/json.h"
#include "provider/docker/container.h"

/* Docker 20.10 has 1.41. Docker 29 has 1.52, and 1.44 as its oldest. */
#define MINOR_MIN 41
#define MINOR_MAX 52

/* Podman is 4.3. */
static const struct docker_dialect dialects[] = {
        {.name = "docker",
         .component = "Engine",
         .has_id = true,
         .has_update = true,
         .has_icc = true,
         .has_gpus = true},
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

static const struct docker_dialect *find_dialect(const struct json_value *version)
{
	for (size_t i = 0; i < COUNT_OF(dialects); i++)
		if (has_component(version, dialects[i].component))
			return &dialects[i];
	return NULL;
}

/* Of "1.MINOR"; -1: another text. */
static int64_t read_minor(const char *text)
{
	struct error ignored = {0};
	int64_t minor;

	if (strncmp(text, "1.", 2) != 0 ||
	    span_parse_whole(span_of(text + 2), 0, 1000, &minor, &ignored) < 0)
		return -1;
	return minor;
}

int docker_version_read(struct span body, struct docker_version *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct docker_dialect *dialect;
	const struct json_value *root;

	if (docker_load_answer(&arena, body, &root, err) < 0)
		return -1;
	dialect = find_dialect(root);
	if (!dialect) {
		(void)FAIL(err, ERROR_UNAVAILABLE, "the daemon is neither Docker nor Podman");
		return FAIL_HINT(err, "docker_host names the socket of one of them");
	}
	int64_t newest = read_minor(json_get_text(root, "ApiVersion", ""));
	int64_t oldest = read_minor(json_get_text(root, "MinAPIVersion", "1.0"));
	if (newest < MINOR_MIN || oldest > MINOR_MAX || oldest < 0)
		return FAIL(err, ERROR_UNAVAILABLE,
		            "%s has versions %.20s to %.20s of the Engine API; atoll needs one of "
		            "1.%d to 1.%d",
		            dialect->name, json_get_text(root, "MinAPIVersion", "1.0"),
		            json_get_text(root, "ApiVersion", "?"), MINOR_MIN, MINOR_MAX);
	*ret = (struct docker_version){.minor = oldest > MINOR_MIN ? (unsigned)oldest : MINOR_MIN,
	                               .dialect = dialect};
	return 0;
}
