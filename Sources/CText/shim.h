#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/// Sixteen bytes of text.
typedef unsigned char pushmill_block __attribute__((vector_size(16)));

static inline pushmill_block pushmill_load(const void *text) {
    pushmill_block bytes;
    memcpy(&bytes, text, sizeof bytes);
    return bytes;
}

/// A bit for each byte that is not 0.
static inline uint16_t pushmill_bits(pushmill_block bytes) {
    typedef bool bits __attribute__((ext_vector_type(16)));
    bits set = __builtin_convertvector(bytes, bits);
    uint16_t mask;
    memcpy(&mask, &set, sizeof mask);
    return mask;
}

/// A bit for each of sixteen bytes that must be escaped in a JSON string: a quote, a backslash or a control character.
static inline uint16_t pushmill_escapes(const void *text) {
    pushmill_block bytes = pushmill_load(text);
    return pushmill_bits((pushmill_block)((bytes < ' ') | (bytes == '"') | (bytes == '\\')));
}

/// Like `pushmill_escapes`, and a bit for each byte outside ASCII.
static inline uint16_t pushmill_stops(const void *text) {
    typedef signed char signs __attribute__((vector_size(16)));
    pushmill_block bytes = pushmill_load(text);
    // As a signed number, a byte from 0x80 up is below the space too.
    return pushmill_bits((pushmill_block)(((signs)bytes < ' ') | (bytes == '"') | (bytes == '\\')));
}
