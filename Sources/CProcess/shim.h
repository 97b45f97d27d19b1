#pragma once
#include <sys/prctl.h>

// Swift cannot call variadic functions.

/// Whether core files are written of this process, and others than root may look into its memory.
static inline int pushmill_show_memory(int is_shown) { return prctl(PR_SET_DUMPABLE, is_shown, 0, 0, 0); }

static inline int pushmill_shows_memory(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1; }
