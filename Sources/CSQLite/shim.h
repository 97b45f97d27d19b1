#pragma once
#include <sqlite3.h>

/// SQLITE_TRANSIENT is a cast that Swift does not import: SQLite copies what it is given.
static inline sqlite3_destructor_type pushmill_sqlite_transient(void) { return SQLITE_TRANSIENT; }

/// No connection takes memory for twenty pages before it has one; `sqlite3_config` takes any number of arguments. Before the
/// first connection only.
static inline void pushmill_sqlite_take_pages_singly(void) { sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, 0); }
