/* SPDX-License-Identifier: Apache-2.0 */
/* escape/attempt.h — what the attempts share. Private to this folder. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "base/error.h"
#include "escape/escape.h"

struct attempt_function {
	const char *id; /* of a row */
	enum escape_status (*attempt)(const char *argument);
};
/* One table per kind; each ends with id NULL. */
extern const struct attempt_function mount_attempts[], process_attempts[], kernel_attempts[],
        network_attempts[], neighbour_attempts[], limit_attempts[];

/* ESCAPE_HELD when `result` is negative (prints errno), else ESCAPE_THROUGH with `subject`. */
enum escape_status expect_refused(long result, const char *subject);
/* Whether `path` can be opened with `flags`; prints. */
enum escape_status expect_no_open(const char *path, int flags);
/* ESCAPE_HELD when none of them is ESCAPE_THROUGH. */
enum escape_status worst_of(const enum escape_status *list, unsigned count);
enum escape_status report_escape(const char *format, ...) PRINTF(1, 2);
enum escape_status report_held(const char *format, ...) PRINTF(1, 2);
enum escape_status report_not_tried(const char *format, ...) PRINTF(1, 2);
/* "ADDRESS:PORT,[ADDRESS]:PORT…": ESCAPE_THROUGH if one of them accepts a connection. IPv6
 * addresses that contain an IPv4 address are tried, too. */
enum escape_status connect_to_list(const char *list);
enum escape_status connect_to_metadata(void);
/* Moves behind the next item of such a list; false: there is none. */
#define ATTEMPT_ADDRESS_SIZE 46
bool address_list_next(struct span *list, char ret_address[ATTEMPT_ADDRESS_SIZE],
                       unsigned *ret_port);
/* Leaves traces and prints addresses; see escape_main. */
int serve_neighbour(const char *word);
