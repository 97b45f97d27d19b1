#pragma once
// ICU renames its functions by macro (u_errorName_72), which Swift does not import: wrap what is used in static inline
// functions here.
#include <unicode/uchar.h>
#include <unicode/utypes.h>

// Text direction

/// 1 for a letter that runs from left to right, 2 for one that runs from right to left, 0 for all others.
static inline int32_t pushmill_icu_direction(UChar32 scalar) {
    switch (u_charDirection(scalar)) {
    case U_LEFT_TO_RIGHT: return 1;
    case U_RIGHT_TO_LEFT:
    case U_RIGHT_TO_LEFT_ARABIC: return 2;
    default: return 0;
    }
}
