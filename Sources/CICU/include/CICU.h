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

/// How a locale writes numbers.
struct pushmill_icu_numbers {
    /// The digits from 0 to 9, the separator before decimals and the one between groups, the plus sign, and what precedes
    /// and follows a negative number. A zero byte ends each.
    char texts[15][pushmill_icu_text_capacity];
    /// How many digits the last group has; 0 if there are no groups.
    int32_t last_group;
    /// How many digits the groups before it have; 0 for as many.
    int32_t other_groups;
    /// How many digits must precede the first separator for there to be one: Spanish groups 12345, but not 1234.
    int32_t minimum_grouping;
};

/// Fills the zeroed `numbers` and returns the status. For a language that ICU does not know, ICU would use the locale of
/// the process's environment; root is used instead.
int32_t pushmill_icu_read_numbers(const char *locale, struct pushmill_icu_numbers *numbers);

// Text direction

/// 1 for a letter that runs from left to right, 2 for one that runs from right to left, 0 for all others.
int32_t pushmill_icu_direction(int32_t scalar);
