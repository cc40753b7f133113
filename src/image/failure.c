/* SPDX-License-Identifier: Apache-2.0 */
#include "image/failure.h"

#include <stdio.h>
#include <string.h>

#include "image/outlet.h"

#define LOGIN_HINT "the registry wants a login that may pull this image, see docs/use/templates.md"

/* Messages of the programs; the first match decides. */
static const struct {
	const char *words;
	enum error_code code;
	const char *hint;
} known[] = {
        {OUTLET_REFUSAL, ERROR_FORBIDDEN, FAILURE_PRIVATE_HINT},
        {"No space left on device", ERROR_NO_SPACE, "the disk of the data folder is full"},
        {"no space left on device", ERROR_NO_SPACE, "the disk of the data folder is full"},
        {"Disk quota exceeded", ERROR_NO_SPACE, "the disk of the data folder is full"},
        {"not enough free space", ERROR_NO_SPACE, "the disk of the data folder is full"},
        {"Cannot allocate memory", ERROR_UNAVAILABLE, "this machine is out of memory"},
        {"Could not resolve", ERROR_UNAVAILABLE, "no network, or no name server answers"},
        {"Temporary failure", ERROR_UNAVAILABLE, "no network, or no name server answers"},
        {"no such host", ERROR_UNAVAILABLE, "no network, or no name server answers"},
        {"onnection refused", ERROR_UNAVAILABLE, "nothing answers at the registry's address"},
        {"etwork is unreachable", ERROR_UNAVAILABLE, "this machine has no network"},
        {"i/o timeout", ERROR_UNAVAILABLE, "the registry did not answer in time"},
        {"timed out", ERROR_UNAVAILABLE, "the registry did not answer in time"},
        {"Failed to fetch", ERROR_UNAVAILABLE, "look at this machine's apt sources"},
        {"x509:", ERROR_UNAVAILABLE, "add the registry's authority to this machine's"},
        {"certificate verif", ERROR_UNAVAILABLE, "add the mirror's authority to this machine's"},
        {"GPG error", ERROR_UNAVAILABLE, "this machine lacks the key of its apt source"},
        {"Unable to locate package", ERROR_UNAVAILABLE, "look at this machine's apt sources"},
        {"manifest unknown", ERROR_NOT_FOUND, "look at the image's name and tag"},
        {"name unknown", ERROR_NOT_FOUND, "look at the image's name and tag"},
        {"unauthorized", ERROR_FORBIDDEN, LOGIN_HINT},
        {"authentication required", ERROR_FORBIDDEN, LOGIN_HINT},
        {"denied", ERROR_FORBIDDEN, LOGIN_HINT},
        {"npm ERR! code", ERROR_UNAVAILABLE, "look at this machine's npm settings"},
        {"npm error code", ERROR_UNAVAILABLE, "look at this machine's npm settings"},
        {"Digest did not match", ERROR_INVALID, "the registry or the archive is damaged"},
        {"no image found", ERROR_INVALID, "it has no image for this processor"},
        {"more than one image", ERROR_INVALID, "give an archive with one image"},
        {"unexpected EOF", ERROR_INVALID, "the archive is cut off"},
        {"invalid tar header", ERROR_INVALID, "the file is no archive of this format"},
        {"manifest.json", ERROR_INVALID, "the file is no archive of this format"},
        {"index.json", ERROR_INVALID, "the file is no archive of this format"},
        {"oci-layout", ERROR_INVALID, "the file is no archive of this format"},
};

/* How likely a line names the cause; among equal ranks the later line wins. */
static int rank_of(const char *line)
{
	static const char *const telling[] = {"level=fatal", "level=error", "E: ", "error",
	                                      "rror:"};

	/* A package says that its service is not started, as it should be in an image. */
	if (strstr(line, "policy-rc.d denied"))
		return 1;
	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (strstr(line, known[i].words))
			return 3;
	for (size_t i = 0; i < COUNT_OF(telling); i++)
		if (strstr(line, telling[i]))
			return 2;
	return line[0] ? 1 : 0;
}

void failure_note(struct command_failure *f, const char *line)
{
	int rank = rank_of(line);

	if (rank < f->rank || rank == 0)
		return;
	f->rank = rank;
	(void)snprintf(f->line, sizeof(f->line), "%s", line);
}

/* skopeo and umoci log as `time="…" level=fatal msg="…"`. */
static void cut_decoration(char *line)
{
	static const char *const before[] = {"msg=\"", "error: ", "E: "};

	for (size_t i = 0; i < COUNT_OF(before); i++) {
		char *at = strstr(line, before[i]);
		if (!at)
			continue;
		at += strlen(before[i]);
		memmove(line, at, strlen(at) + 1);
		break;
	}
	size_t size = strlen(line);
	if (size > 0 && line[size - 1] == '"')
		line[size - 1] = '\0';
}

int failure_report(const struct command_failure *f, const char *program, int exit_status,
                   struct error *err)
{
	char line[sizeof(f->line)];

	memcpy(line, f->line, sizeof(line));
	cut_decoration(line);
	if (!line[0])
		return FAIL(err, ERROR_SYSTEM, "%s ended with status %d", program, exit_status);
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		if (!strstr(line, known[i].words))
			continue;
		(void)FAIL(err, known[i].code, "%s: %s", program, line);
		return FAIL_HINT(err, "%s", known[i].hint);
	}
	return FAIL(err, ERROR_SYSTEM, "%s: %s", program, line);
}
