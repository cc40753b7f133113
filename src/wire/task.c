/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/task.h"

#include "base/bytes.h"
#include "base/clock.h"

const struct wire_member task_report_shape[] = {
        WIRE_U32_MEMBER(task_report, code),
        WIRE_U32_MEMBER(task_report, sys_errno),
        WIRE_TEXT_MEMBER(task_report, text, ERROR_TEXT_MAX),
        WIRE_TEXT_MEMBER(task_report, hint, ERROR_HINT_MAX),
        WIRE_U64_MEMBER(task_report, result.bytes),
        WIRE_U64_MEMBER(task_report, result.entries),
        WIRE_U32_MEMBER(task_report, result.is_partial),
        WIRE_U64_MEMBER(task_report, result.root_mount),
        WIRE_END,
};

int task_send_word(int fd, uint16_t type, struct error *err)
{
	unsigned char word[WIRE_HEAD_SIZE];

	wire_put_head(word, type, 0);
	return wire_send_packet(fd, (struct span){(const char *)word, sizeof(word)}, NULL,
	                        DEADLINE_NEVER, err);
}
