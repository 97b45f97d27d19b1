#pragma once
#include <stddef.h>

/// Starts to load the cache line and returns at once.
static inline void pushmill_prefetch(const void *address) { __builtin_prefetch(address); }

/// Prefetches at most sixteen lines: the hardware prefetches the rest of a longer run by itself.
static inline void pushmill_prefetch_run(const void *start, size_t size) {
    for (size_t at = 0; at < size && at < 1024; at += 64) __builtin_prefetch((const char *)start + at);
}
