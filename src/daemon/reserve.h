/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/reserve.h — space and files in the data folder, reserved for a full disk.
 *
 * DATA/reserve holds a file of 8 MiB and some empty files. When the disk is full, the supervisor
 * deletes them so that the server can start, delete sandboxes and write its log into the database.
 * It creates them again when there is space. Only the supervisor's thread calls. */
#pragma once

#include <stdint.h>

#define RESERVE_LOOK_MS 1000

/* Deletes the reserve if the folder's filesystem is full, creates it otherwise. Failures are
 * ignored: there is no reserve then. */
void reserve_look(int data_fd);
