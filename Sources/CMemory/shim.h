#pragma once
#include <stddef.h>

/// Begins to fetch the cache line, and waits for nothing.
static inline void pushmill_prefetch(const void *address) { __builtin_prefetch(address); }

/// Of so many bytes, sixteen lines at most: the hardware follows a longer run by itself.
static inline void pushmill_prefetch_run(const void *start, size_t size) {
    for (size_t at = 0; at < size && at < 1024; at += 64) __builtin_prefetch((const char *)start + at);
}
