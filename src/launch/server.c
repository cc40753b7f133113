/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/server.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "wire/task.h"

/* Which channels serve a kind of request. */
enum channel_rule {
	ANY_CHANNEL,
	MAIN_CHANNEL,
	OWN_CHANNEL,  /* because it waits, or changes the process for a while */
	LAST_REQUEST, /* the same, and the process cannot serve another one */
};

static const struct {
	serve_request *serve;
	unsigned fds_min, fds_max;
	enum channel_rule rule;
} rows[LAUNCH_KIND_COUNT] = {
        [LAUNCH_CHANNEL] = {serve_channel, 0, 0, MAIN_CHANNEL},
        [LAUNCH_HOLD] = {serve_hold, 1, 1, MAIN_CHANNEL},
        [LAUNCH_MOUNT] = {serve_mount, 0, WIRE_FDS_MAX, ANY_CHANNEL},
        [LAUNCH_SHARED] = {serve_shared, 0, 1, MAIN_CHANNEL},
        [LAUNCH_ID_MAP] = {serve_id_map, 0, 0, ANY_CHANNEL},
        [LAUNCH_IMAGE] = {serve_image, 1, 1, OWN_CHANNEL},
        [LAUNCH_QUOTA] = {serve_quota, 1, 1, ANY_CHANNEL},
        [LAUNCH_READ_ONLY] = {serve_read_only, 1, 1, OWN_CHANNEL},
        [LAUNCH_REPLACE] = {serve_replace, 2, 2, OWN_CHANNEL},
        [LAUNCH_ATTACH] = {serve_attach, 1, 2, LAST_REQUEST},
        [LAUNCH_DETACH] = {serve_detach, 1, 1, LAST_REQUEST},
        [LAUNCH_DEVICES] = {serve_devices, 0, 0, MAIN_CHANNEL},
        [LAUNCH_AGENT] = {serve_agent, 2, 5, OWN_CHANNEL},
        [LAUNCH_HOSTNAME] = {serve_hostname, 1, 1, MAIN_CHANNEL},
        [LAUNCH_WAIT] = {serve_wait, 1, 1, ANY_CHANNEL},
        [LAUNCH_TASK] = {serve_task, 0, LAUNCH_TASK_FDS_MAX, ANY_CHANNEL},
        [LAUNCH_PROCESS] = {serve_process, 0, 0, ANY_CHANNEL},
};

void launch_reply_add(struct launch_reply *reply, int fd)
{
	assert(reply->fds.count < WIRE_FDS_MAX);
	reply->fds.fds[reply->fds.count++] = fd;
}

int launch_check_text(const char *text, size_t size, struct error *err)
{
	return memchr(text, '\0', size) ? 0 : FAIL(err, ERROR_INVALID, "a text has no end");
}

/* Checks what all requests have. */
static int check_request(const struct launch_server *l, const struct buf *packet,
                         const struct wire_fds *fds, enum launch_kind *ret, struct error *err)
{
	struct launch_head head;

	if (packet->size < sizeof(head))
		return FAIL(err, ERROR_INVALID, "a request of %zu bytes", packet->size);
	memcpy(&head, packet->data, sizeof(head));
	if (head.kind >= LAUNCH_KIND_COUNT || !rows[head.kind].serve)
		return FAIL(err, ERROR_INVALID, "unknown request %u", head.kind);
	*ret = (enum launch_kind)head.kind;
	if (packet->size != sizeof(head) + launch_request_size(*ret) ||
	    fds->count < rows[*ret].fds_min || fds->count > rows[*ret].fds_max)
		return FAIL(err, ERROR_INVALID, "request %u of %zu bytes with %u descriptors",
		            head.kind, packet->size, fds->count);
	if (rows[*ret].rule != ANY_CHANNEL && l->is_worker != (rows[*ret].rule != MAIN_CHANNEL))
		return FAIL(err, ERROR_INVALID, "request %u on the wrong channel", head.kind);
	return 0;
}

static int send_reply(const struct launch_server *l, struct launch_reply *reply, struct error *err)
{
	const struct span text = {(const char *)&reply->answer, sizeof(reply->answer)};

	if (reply->answer.err.code != ERROR_NONE)
		wire_fds_close(&reply->fds);
	reply->answer.err.where = NULL; /* an address of this program */
	return wire_send_packet(l->channel_fd, text, &reply->fds, DEADLINE_NEVER, err);
}

static int serve_packet(struct launch_server *l, const struct buf *packet, struct wire_fds *fds,
                        bool *ret_last, struct error *err)
{
	struct launch_reply reply = {.answer = {.err = {.code = ERROR_NONE}}};
	const struct launch_call call = {.request = packet->data + sizeof(struct launch_head),
	                                 .fds = fds->fds,
	                                 .fd_count = fds->count};
	enum launch_kind kind = LAUNCH_KIND_COUNT;
	int status;

	if (check_request(l, packet, fds, &kind, &reply.answer.err) == 0)
		(void)!rows[kind].serve(l, &call, &reply, &reply.answer.err);
	*ret_last = kind < LAUNCH_KIND_COUNT && rows[kind].rule == LAST_REQUEST;
	status = send_reply(l, &reply, err);
	wire_fds_close(&reply.fds);
	wire_fds_close(fds);
	while (reply.late_count > 0)
		(void)close(reply.late[--reply.late_count]);
	return status;
}

int launch_serve(struct launch_server *l, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(64 * 1024);
	bool is_last = false;

	while (!is_last) {
		struct wire_fds fds = {.count = 0};

		if (wire_receive_packet(l->channel_fd, DEADLINE_NEVER, &packet, &fds, err) < 0)
			return err->code == ERROR_UNAVAILABLE ? 0 : -1;
		if (serve_packet(l, &packet, &fds, &is_last, err) < 0)
			return err->code == ERROR_UNAVAILABLE ? 0 : -1;
	}
	return 0;
}
