#pragma once
#include <stdint.h>

/// Counts from now on what the Swift runtime asks of malloc: objects, array and string storage, boxes, pointers' memory,
/// tasks; what C libraries allocate for themselves is not counted. And what counts references.
void pushmill_allocations_start(void);

/// Ends that; counting takes time. Once for each start.
void pushmill_allocations_stop(void);

/// How often this thread has allocated while anybody counted.
uint64_t pushmill_allocations_of_this_thread(void);

/// How often this thread has retained or released an object meanwhile.
uint64_t pushmill_references_of_this_thread(void);

/// Gives memory that lies free between what is in use back to the system. Takes milliseconds: worth it when something
/// large has been loaded, and what that took in passing is not needed again.
void pushmill_allocations_give_back(void);
