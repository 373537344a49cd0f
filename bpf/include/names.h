/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How names of threads and control groups are compared, in BPF and in user space. */
#ifndef TAKT_NAMES_H
#define TAKT_NAMES_H

#include "abi.h"

#define TAKT_COMM_BYTES 16

/* Names of control groups are compared by their 64-bit FNV-1a hash. */
#define TAKT_FNV_BASIS 0xcbf29ce484222325ULL
#define TAKT_FNV_PRIME 0x100000001b3ULL

#endif
