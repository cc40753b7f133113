/* SPDX-License-Identifier: Apache-2.0 */
/* The toolbox, Daytona's daemon in a sandbox. It runs commands as the user of the service's
 * snapshot, who is root or may become root with sudo. */
#include "provider/daytona/daytona.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "json/json.h"
#include "json/write.h"
#include "wire/agent_reverse.h"

#define UPLOAD_PATH "/tmp/.atoll-agent-upload"
#define BOUNDARY "atoll-5f2c9d1e7b3a48609d"
#define PART "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"files[0]."
#define BODY_MAX ((size_t)64 << 20)
#define SAID_MAX 400
#define TIMEOUT_S 60

static int read_result(const struct json_value *root, struct error *err)
{
	const char *said = json_get_text(root, "result", "");
	int64_t status = json_get_whole(root, "exitCode", -1);

	if (status == 0)
		return 0;
	return FAIL(err, ERROR_SYSTEM, "exit status %lld: %.*s", (long long)status, SAID_MAX, said);
}

/* The script has no single quotes. */
static const char *as_root(struct arena *a, const char *script)
{
	return arena_format(a,
	                    "if [ \"$(id -u)\" = 0 ]; then exec /bin/sh -c '%s'; else exec sudo -n "
	                    "--preserve-env=" AGENT_TOKEN_VARIABLE " /bin/sh -c '%s'; fi",
	                    script, script);
}

int daytona_run(struct remote *r, const struct remote_sandbox *s,
                const struct remote_program *program, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(16384);
	const struct json_value *root;

	json_begin_object(&body, NULL);
	json_add_text(&body, "command", as_root(&arena, program->script));
	json_add_text(&body, "cwd", "/");
	json_begin_object(&body, "envs");
	json_add_text(&body, AGENT_TOKEN_VARIABLE, program->token);
	json_end_object(&body);
	json_add_whole(&body, "timeout", TIMEOUT_S);
	json_end_object(&body);
	const struct remote_call call = {.method = "POST",
	                                 .url = s->access,
	                                 .has_key = true,
	                                 .path = "/process/execute",
	                                 .body = buf_span(&body),
	                                 .deadline = program->deadline};
	return remote_call_load(r, &call, &arena, &root, err) < 0 ? -1 : read_result(root, err);
}

static void write_form(struct buf *out, struct span bytes)
{
	buf_add_text(out, PART "path\"\r\n\r\n" UPLOAD_PATH "\r\n");
	buf_add_text(out, PART "file\"; filename=\"upload\"\r\n"
	                       "Content-Type: application/octet-stream\r\n\r\n");
	buf_add_span(out, bytes);
	buf_add_text(out, "\r\n--" BOUNDARY "--\r\n");
}

/* The user of the toolbox may not write where root does, so the file is moved there. */
int daytona_put_file(struct remote *r, const struct remote_sandbox *s, const char *path,
                     struct span bytes, int64_t deadline, struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	char script[1024];
	const struct remote_program move = {script, "", deadline};
	const struct remote_call call = {.method = "POST",
	                                 .url = s->access,
	                                 .has_key = true,
	                                 .path = "/files/bulk-upload",
	                                 .content_type = "multipart/form-data; boundary=" BOUNDARY,
	                                 .deadline = deadline};

	write_form(&body, bytes);
	struct remote_call upload = call;
	upload.body = buf_span(&body);
	if (remote_call_do(r, &upload, err) < 0)
		return -1;
	(void)snprintf(script, sizeof(script),
	               "mkdir -p \"$(dirname %s)\" && rm -f %s && cp " UPLOAD_PATH
	               " %s && rm -f " UPLOAD_PATH,
	               path, path, path);
	return daytona_run(r, s, &move, err);
}
