/* SPDX-License-Identifier: Apache-2.0 */
/* image/failure.h — makes one clear error from the output of a program that failed. */
#pragma once

#include "base/error.h"

#define FAILURE_PRIVATE_HINT "the option registry_allow_private lets images be pulled from there"

struct command_failure {
	char line[512]; /* the last line that reports an error, else the last line */
	int rank;
};

void failure_note(struct command_failure *f, const char *line);
/* Fills err; `program` is what failed. Always returns -1. */
int failure_report(const struct command_failure *f, const char *program, int exit_status,
                   struct error *err);
