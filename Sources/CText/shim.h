#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/// A bit for each of sixteen bytes that is not plain in a JSON string: a quote, a backslash, a control character or none of
/// ASCII. As a signed number, a byte from 0x80 up is below the space too.
static inline uint16_t pushmill_stops(const void *text) {
    typedef signed char block __attribute__((vector_size(16)));
    typedef bool bits __attribute__((ext_vector_type(16)));
    block bytes;
    memcpy(&bytes, text, sizeof bytes);
    bits stops = __builtin_convertvector((bytes < ' ') | (bytes == '"') | (bytes == '\\'), bits);
    uint16_t mask;
    memcpy(&mask, &stops, sizeof mask);
    return mask;
}
