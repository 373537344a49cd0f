/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An object includes this before those headers of algo/ of which it needs only the types: the
 * functions of these are left out of it, where they would be a third of its bytes.
 */
#ifndef TAKT_TYPES_ONLY_H
#define TAKT_TYPES_ONLY_H

#include "abi.h"

#undef TAKT_FN_OUT
#define TAKT_FN_OUT static __attribute__((noinline, unused))

#endif
