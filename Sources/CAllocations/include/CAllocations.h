#pragma once
#include <stdint.h>

/// Starts counting the Swift runtime's calls to malloc: for objects, array and string storage, boxes, pointers' memory,
/// tasks; not what C libraries allocate for themselves. Also counts retains and releases.
void pushmill_allocations_start(void);

/// Ends counting, which takes time. Call once for each start.
void pushmill_allocations_stop(void);

/// How often this thread has allocated while counting was on.
uint64_t pushmill_allocations_of_this_thread(void);

/// How often this thread has retained or released an object while counting was on.
uint64_t pushmill_references_of_this_thread(void);

/// Returns memory to the system that lies free between memory in use. Takes milliseconds: worth it when something large
/// has been loaded, and the memory that loading took is not needed again.
void pushmill_allocations_give_back(void);
