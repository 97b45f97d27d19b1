#pragma once
#include <sqlite3.h>

/// SQLITE_TRANSIENT, a cast that Swift does not import, makes SQLite copy what it is given.
static inline sqlite3_destructor_type pushmill_sqlite_transient(void) { return SQLITE_TRANSIENT; }
