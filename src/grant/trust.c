/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in a sandbox come to trust its authority. */
#include "base/clock.h"
#include "credential/authority.h"
#include "grant/state.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define WRITE_MS 5000

static int send_content(struct agent_reader *agent, struct span content, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(AGENT_DATA_MAX + 2 * WIRE_HEAD_SIZE);

	while (content.size > 0) {
		buf_reset(&frame);
		wire_add_frame(&frame, AGENT_DATA, span_take(&content, AGENT_DATA_MAX));
		if (agent_reader_send(agent, buf_span(&frame), err) < 0)
			return -1;
	}
	buf_reset(&frame);
	wire_add_frame(&frame, AGENT_DATA_END, (struct span){NULL, 0});
	return agent_reader_send(agent, buf_span(&frame), err);
}

static int write_file(struct provider *p, const char *id, const char *path, struct span content,
                      struct error *err)
{
	const struct agent_path message = {.path = path, .flags = AGENT_PATH_PARENTS};
	const struct compute_request request = {AGENT_WRITE, agent_path_shape, &message, NULL};
	const struct agent_limits limits = {.deadline = deadline_after(WRITE_MS)};
	AUTO(agent_reader_done) struct agent_reader agent = {0};

	agent_reader_init(&agent, p, id, &limits);
	if (agent_reader_ask(&agent, &request, err) < 0 ||
	    agent_reader_expect(&agent, AGENT_READY, err) < 0 ||
	    send_content(&agent, content, err) < 0 ||
	    agent_reader_expect(&agent, AGENT_FILE, err) < 0 ||
	    agent_reader_expect(&agent, AGENT_DONE, err) < 0)
		return FAIL_CONTEXT(err, "write '%s'", path);
	return 0;
}

int grant_install_trust(struct provider *p, const char *id, const char *certificate,
                        struct error *err)
{
	AUTO(buf_done) struct buf bundle = BUF(CREDENTIAL_BUNDLE_MAX);

	if (provider_require(p, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	credential_bundle_write(&bundle, certificate);
	if (write_file(p, id, CREDENTIAL_AUTHORITY_PATH, span_of(certificate), err) < 0)
		return -1;
	return write_file(p, id, CREDENTIAL_BUNDLE_PATH, buf_span(&bundle), err);
}
