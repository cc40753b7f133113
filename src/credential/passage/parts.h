/* SPDX-License-Identifier: Apache-2.0 */
/* credential/passage/parts.h — what the files of this folder share. Private to it. Loop thread. */
#pragma once

#include "credential/passage/passage.h"

/* Reports requests that were counted and not reported yet. */
void passage_report(struct passage_connection *c);
/* The host's wire lets go of the passage, if it has it. */
void passage_forget_host(struct passage *x);
