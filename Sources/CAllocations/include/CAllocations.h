#pragma once
#include <stdint.h>

/// Counts from now on, and for good, what the Swift runtime asks of malloc: objects, array and string storage, boxes,
/// pointers' memory, tasks. What C libraries allocate for themselves is not counted.
void pushmill_allocations_start(void);

/// How often this thread has allocated since then.
uint64_t pushmill_allocations_of_this_thread(void);
