#pragma once

// There is nothing to call: what `CWaits.c` defines takes the place of a function of the C library.
