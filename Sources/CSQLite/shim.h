#pragma once
#include <sqlite3.h>

/// SQLITE_TRANSIENT, a cast that Swift does not import, makes SQLite copy what it is given.
static inline sqlite3_destructor_type pushmill_sqlite_transient(void) { return SQLITE_TRANSIENT; }

/// Keeps connections from allocating memory for twenty pages in advance; `sqlite3_config` is variadic. Call it before
/// the first connection only.
static inline void pushmill_sqlite_take_pages_singly(void) { sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, 0); }
