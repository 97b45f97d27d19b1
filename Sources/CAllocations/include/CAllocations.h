#pragma once
#include <stdint.h>

/// Counts from now on, and for good, what the Swift runtime asks of malloc: objects, array and string storage, boxes,
/// pointers' memory, tasks; what C libraries allocate for themselves is not counted. And what counts references.
void pushmill_allocations_start(void);

/// How often this thread has allocated since then.
uint64_t pushmill_allocations_of_this_thread(void);

/// How often this thread has retained or released an object since then.
uint64_t pushmill_references_of_this_thread(void);

/// Gives memory that lies free between what is in use back to the system. Takes milliseconds: worth it when something
/// large has been loaded, and what that took in passing is not needed again.
void pushmill_allocations_give_back(void);
