#pragma once
#include <sys/prctl.h>

// Swift cannot call variadic functions.

/// No core file is written of this process, and nobody but root looks into its memory.
static inline int pushmill_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
