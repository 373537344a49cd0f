/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's names of integers, which libbpf's headers need. */
#ifndef TAKT_SCALARS_H
#define TAKT_SCALARS_H

#include "abi.h"

typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef int __s32;
typedef long long __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

#endif
