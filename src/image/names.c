/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "image/image.h"
#include "image/reference.h"

#define REFERENCE_MAX 512
#define DIGEST_SIZE 64

static const char *const formats[IMAGE_FORMAT_COUNT] = {
        [IMAGE_TAR] = "tar",
        [IMAGE_OCI] = "oci",
        [IMAGE_DOCKER_ARCHIVE] = "docker-archive",
        [IMAGE_REGISTRY] = "registry",
        [IMAGE_BACKUP] = "backup",
};

const char *image_format_name(enum image_format format)
{
	return formats[format];
}

int image_format_parse(const char *name, enum image_format *ret, struct error *err)
{
	for (unsigned i = 0; i < IMAGE_FORMAT_COUNT; i++)
		if (!strcmp(formats[i], name)) {
			*ret = (enum image_format)i;
			return 0;
		}
	(void)FAIL(err, ERROR_INVALID, "'%.40s' is no image format", name);
	return FAIL_HINT(err, "tar, oci, docker-archive, registry or backup");
}

static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int image_name_check(const char *name, struct error *err)
{
	size_t size = strlen(name);
	bool fine = size >= 1 && size <= IMAGE_NAME_MAX && is_lower_or_digit(name[0]);

	for (size_t i = 0; fine && i < size; i++)
		fine = is_lower_or_digit(name[i]) || strchr("._-", name[i]);
	if (fine)
		return 0;
	(void)FAIL(err, ERROR_INVALID, "'%.80s' is no template name", name);
	return FAIL_HINT(err,
	                 "1 to %d of a-z, 0-9, '.', '_' and '-', the first a letter or a digit",
	                 IMAGE_NAME_MAX);
}

/* The rules of the distribution specification: lower case and digits, with single separators
 * between. */
static bool path_part_is_valid(struct span part)
{
	if (part.size == 0 || !is_lower_or_digit(part.data[0]) ||
	    !is_lower_or_digit(part.data[part.size - 1]))
		return false;
	for (size_t i = 0; i < part.size; i++)
		if (!is_lower_or_digit(part.data[i]) && !memchr("._-", part.data[i], 3))
			return false;
	return true;
}

static bool path_is_valid(struct span path)
{
	struct span part;
	bool more;

	do {
		more = span_split(&path, '/', &part);
		if (!path_part_is_valid(part))
			return false;
	} while (more);
	return true;
}

static bool tag_is_valid(struct span tag)
{
	if (tag.size == 0 || tag.size > 128 || tag.data[0] == '.' || tag.data[0] == '-')
		return false;
	for (size_t i = 0; i < tag.size; i++)
		if (!isalnum((unsigned char)tag.data[i]) && !memchr("._-", tag.data[i], 3))
			return false;
	return true;
}

static bool digest_is_valid(struct span digest)
{
	static const char prefix[] = "sha256:";

	if (!span_starts_with(digest, prefix) || digest.size != sizeof(prefix) - 1 + DIGEST_SIZE)
		return false;
	for (size_t i = sizeof(prefix) - 1; i < digest.size; i++)
		if (!isdigit((unsigned char)digest.data[i]) &&
		    (digest.data[i] < 'a' || digest.data[i] > 'f'))
			return false;
	return true;
}

static bool port_is_valid(struct span port)
{
	struct error ignored = {0};
	int64_t number;

	return span_parse_whole(port, 1, 65535, &number, &ignored) == 0;
}

static bool host_is_valid(struct span host)
{
	struct span name;

	if (span_split(&host, ':', &name) && !port_is_valid(host))
		return false;
	if (name.size == 0 || !isalnum((unsigned char)name.data[0]))
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (!isalnum((unsigned char)name.data[i]) && !memchr(".-", name.data[i], 2))
			return false;
	return true;
}

/* Only a first part with a dot or a port, or "localhost", is a host. */
static bool is_host(struct span part)
{
	return span_find(part, '.') >= 0 || span_find(part, ':') >= 0 ||
	       span_equals_text(part, "localhost");
}

static bool reference_is_valid(struct span rest)
{
	struct span name, first, path;

	if (span_split(&rest, '@', &name) && !digest_is_valid(rest))
		return false;
	path = name;
	if (span_split(&path, '/', &first) && is_host(first)) {
		if (!host_is_valid(first))
			return false;
	} else {
		path = name;
	}
	struct span tag = path;
	if (span_split(&tag, ':', &path) && !tag_is_valid(tag))
		return false;
	return path_is_valid(path);
}

int image_reference_check(const char *reference, struct error *err)
{
	struct span text = span_of(reference);

	if (text.size > 0 && text.size <= REFERENCE_MAX && reference_is_valid(text))
		return 0;
	(void)FAIL(err, ERROR_INVALID, "'%.100s' is no image reference", reference);
	return FAIL_HINT(err,
	                 "for example 'registry.example/library/alpine:3' or 'name@sha256:...'");
}

struct span reference_host(const char *reference)
{
	struct span rest = span_of(reference), first;

	return span_split(&rest, '/', &first) && is_host(first) ? first : SPAN("docker.io");
}

/* Checks the address, not the start of the text: "127.example.org" is a host name. */
bool reference_is_loopback(const char *reference)
{
	struct span rest = reference_host(reference), name;
	struct in_addr address;
	char text[INET_ADDRSTRLEN];

	(void)span_split(&rest, ':', &name);
	if (span_equals_text(name, "localhost"))
		return true;
	if (name.size >= sizeof(text))
		return false;
	(void)snprintf(text, sizeof(text), "%.*s", (int)name.size, name.data);
	return inet_pton(AF_INET, text, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

struct image_reference image_reference_read(struct arena *a, const char *reference)
{
	struct span host = reference_host(reference), rest = span_of(reference), name, path;
	struct image_reference r = {.is_loopback = reference_is_loopback(reference)};

	if (memchr(reference, '/', rest.size) && span_starts_with(rest, arena_copy(a, host)) &&
	    rest.data[host.size] == '/')
		span_skip(&rest, host.size + 1);
	bool has_digest = span_split(&rest, '@', &name);
	r.digest = has_digest ? arena_copy(a, rest) : "";
	rest = name;
	r.tag = span_split(&rest, ':', &path) ? arena_copy(a, rest) : "latest";
	bool is_hub =
	        span_equals_text(host, "docker.io") || span_equals_text(host, "index.docker.io");
	r.host = is_hub ? "docker.io" : arena_copy(a, host);
	r.path = arena_format(a, "%s%s", is_hub && span_find(path, '/') < 0 ? "library/" : "",
	                      arena_copy(a, path));
	return r;
}

/* Removes the parts that are implied. */
static struct span short_reference(const char *reference)
{
	static const char *const understood[] = {"docker.io/", "index.docker.io/", "library/"};
	struct span rest = span_of(reference);

	for (size_t i = 0; i < COUNT_OF(understood); i++)
		if (span_starts_with(rest, understood[i]))
			span_skip(&rest, strlen(understood[i]));
	return rest;
}

static bool is_latest_of(struct span longer, struct span name)
{
	if (longer.size <= name.size)
		return false;
	return span_equals((struct span){longer.data, name.size}, name) &&
	       span_equals_text((struct span){longer.data + name.size, longer.size - name.size},
	                        ":latest");
}

bool image_reference_is_same(const char *reference, const char *other)
{
	struct span one = short_reference(reference), two = short_reference(other);

	return span_equals(one, two) || is_latest_of(one, two) || is_latest_of(two, one);
}
