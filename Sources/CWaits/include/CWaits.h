#pragma once

// Nothing here to call: `CWaits.c` replaces a function of the C library.
