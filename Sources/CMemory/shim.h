#pragma once

/// Begins to fetch the cache line, and waits for nothing.
static inline void pushmill_prefetch(const void *address) { __builtin_prefetch(address); }
