#pragma once
// ICU renames its functions by macro (u_errorName_72), which Swift does not import: wrap what is used in static inline
// functions here.
#include <unicode/utypes.h>
