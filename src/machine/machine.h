/* SPDX-License-Identifier: Apache-2.0 */
/* machine/machine.h — the program atoll-machine, which works beside QEMU in the native sandbox of a
 * virtual machine. It controls QEMU through its monitor, a Unix socket in that sandbox.
 *
 *   run KEY PROGRAM ARGUMENT…    becomes the program, if the file key beside this program holds
 * KEY; KEY "-": in any case save SOCKET FOLDER BYTES     stops the processors and writes FOLDER/ram
 * and FOLDER/state restore SOCKET FOLDER        loads FOLDER/state and lets the processors run
 *   continue SOCKET              lets the processors run again
 *
 * The file `state` exists only while `ram` is of the same moment. `ram` holds the first BYTES of
 * the machine's memory; QEMU must have no more. */
#pragma once

/* The whole program; returns the exit status. */
int machine_main(int argc, char **argv);
