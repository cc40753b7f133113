/* SPDX-License-Identifier: Apache-2.0 */
/* broker/prewarm/kind.h — what a prewarmed sandbox can become: without or with internet. */
#pragma once

enum prewarm_kind { PREWARM_BLOCKED, PREWARM_INTERNET, PREWARM_KIND_COUNT };
