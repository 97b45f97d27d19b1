#pragma once
#include <stdint.h>
// What is used of ICU, with UTF-8 in place of UTF-16. Names none of ICU's own types: Foundation's module has another
// ICU's types of the same names, and a compiler that sees both refuses them. No call truncates a text: one that does
// not fit is a failure in `status`, which is 0 without one and positive after one.

/// The longest symbol or affix, and the longest name of a locale.
enum { pushmill_icu_text_capacity = 64, pushmill_icu_name_capacity = 157 };

// Locales. Each writes a name and returns its length; 0 if there is none.

/// ICU's own name for a BCP 47 tag; none if the whole text is not such a tag.
int32_t pushmill_icu_locale(const char *tag, int32_t length, char *name);

/// The new name of a renamed language (`kmr` is `ku`, `sh` is `sr_Latn`).
int32_t pushmill_icu_language_alias(const char *language, char *name);

/// The name with its likely script and region.
int32_t pushmill_icu_likely(const char *name, char *likely);

/// The code of a script, by its code or its English name: `Latn` for `latin`. NULL if there is no such script.
const char *pushmill_icu_script(const char *name);

// Plural rules

struct pushmill_icu_plural_rules;

struct pushmill_icu_plural_rules *pushmill_icu_plural_rules_open(const char *locale, int32_t *status);

void pushmill_icu_plural_rules_close(struct pushmill_icu_plural_rules *rules);

/// The category's place in: zero, one, two, few, many, other. Thread-safe, because it only reads the rules.
int32_t pushmill_icu_plural_category(const struct pushmill_icu_plural_rules *rules, double number);

// Numbers

struct pushmill_icu_number_format;

/// For a language that ICU does not know, ICU would use the locale of the process's environment; root is used instead.
struct pushmill_icu_number_format *pushmill_icu_number_format_open(const char *locale, int32_t *status);

void pushmill_icu_number_format_close(struct pushmill_icu_number_format *format);

/// How many digits the last group has; 0 if there are no groups.
int32_t pushmill_icu_last_group(const struct pushmill_icu_number_format *format);

/// How many digits the groups before it have; 0 for as many.
int32_t pushmill_icu_other_groups(const struct pushmill_icu_number_format *format);

/// How many digits must precede the first separator for there to be one: Spanish groups 12345, but not 1234.
int32_t pushmill_icu_minimum_grouping(struct pushmill_icu_number_format *format, int32_t group, int32_t *status);

enum pushmill_icu_symbol {
    pushmill_icu_decimal_separator,
    pushmill_icu_group_separator,
    pushmill_icu_plus,
    pushmill_icu_negative_prefix,
    pushmill_icu_negative_suffix,
};

/// Writes a symbol, or the digit for a number from 0 to 9, and returns its length.
int32_t pushmill_icu_write_symbol(
    const struct pushmill_icu_number_format *format, enum pushmill_icu_symbol symbol, char *utf8, int32_t *status);
int32_t pushmill_icu_write_digit(
    const struct pushmill_icu_number_format *format, int32_t number, char *utf8, int32_t *status);

// Text direction

/// 1 for a letter that runs from left to right, 2 for one that runs from right to left, 0 for all others.
int32_t pushmill_icu_direction(int32_t scalar);
