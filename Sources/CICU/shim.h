#pragma once
// ICU renames its functions by macro (u_errorName_72), which Swift does not import: the functions in use are wrapped
// here, with UTF-8 in place of UTF-16. No call truncates a text: one that does not fit is a failure in `status`.
#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/unum.h>
#include <unicode/upluralrules.h>
#include <unicode/ures.h>
#include <unicode/ustring.h>
#include <unicode/utypes.h>

/// The longest symbol or affix.
enum { pushmill_icu_text_capacity = 64 };

static inline int32_t pushmill_icu_utf8(const UChar *text, int32_t length, char *utf8, UErrorCode *status) {
    int32_t count = 0;
    u_strToUTF8(utf8, pushmill_icu_text_capacity, &count, text, length, status);
    return U_SUCCESS(*status) ? count : 0;
}

// Locales

/// Writes ICU's own name for a BCP 47 tag and returns its length; 0 if the whole text is not such a tag.
static inline int32_t pushmill_icu_locale(const char *tag, int32_t length, char *name, UErrorCode *status) {
    int32_t parsed = 0;
    int32_t count = uloc_forLanguageTag(tag, name, ULOC_FULLNAME_CAPACITY, &parsed, status);
    return U_SUCCESS(*status) && parsed == length && count < ULOC_FULLNAME_CAPACITY ? count : 0;
}

/// Writes the new name of a renamed language (`kmr` is `ku`, `sh` is `sr_Latn`), returns its length; 0 if it has none.
static inline int32_t pushmill_icu_language_alias(const char *language, char *name) {
    static const char *const path[] = {"alias", "language"};
    UErrorCode status = U_ZERO_ERROR;
    UResourceBundle *table = ures_openDirect(NULL, "metadata", &status);
    for (int i = 0; i < 2; i++) table = ures_getByKey(table, path[i], table, &status);
    UResourceBundle *alias = ures_getByKey(table, language, NULL, &status);
    int32_t count = ULOC_FULLNAME_CAPACITY;
    ures_getUTF8StringByKey(alias, "replacement", name, &count, 1, &status);
    ures_close(alias);
    ures_close(table);
    return U_SUCCESS(status) && count < ULOC_FULLNAME_CAPACITY ? count : 0;
}

/// Adds the likely script and region to a name and returns its length.
static inline int32_t pushmill_icu_likely(const char *name, char *likely, UErrorCode *status) {
    int32_t count = uloc_addLikelySubtags(name, likely, ULOC_FULLNAME_CAPACITY, status);
    return U_SUCCESS(*status) && count < ULOC_FULLNAME_CAPACITY ? count : 0;
}

/// The code of a script, by its code or its English name: `Latn` for `latin`. NULL if there is no such script.
static inline const char *pushmill_icu_script(const char *name) {
    return u_getPropertyValueName(UCHAR_SCRIPT, u_getPropertyValueEnum(UCHAR_SCRIPT, name), U_SHORT_PROPERTY_NAME);
}

// Plural rules

static inline UPluralRules *pushmill_icu_plural_rules_open(const char *locale, UErrorCode *status) {
    return uplrules_openForType(locale, UPLURAL_TYPE_CARDINAL, status);
}

static inline void pushmill_icu_plural_rules_close(UPluralRules *rules) { uplrules_close(rules); }

/// The category's place in: zero, one, two, few, many, other. Thread-safe, because it only reads the rules.
static inline int32_t pushmill_icu_plural_category(const UPluralRules *rules, double number) {
    UChar keyword[16] = {0};
    UErrorCode status = U_ZERO_ERROR;
    uplrules_select(rules, number, keyword, 16, &status);
    switch (keyword[0]) {
    case 'z': return 0;
    case 'o': return keyword[1] == 'n' ? 1 : 5;
    case 't': return 2;
    case 'f': return 3;
    case 'm': return 4;
    default: return 5;
    }
}

// Numbers

/// For a language that ICU does not know, it would use the locale of the process's environment; root is used instead.
static inline UNumberFormat *pushmill_icu_number_format_open(const char *locale, UErrorCode *status) {
    UErrorCode found = U_ZERO_ERROR;
    ures_close(ures_open(NULL, locale, &found));
    return unum_open(UNUM_DECIMAL, NULL, 0, found == U_USING_DEFAULT_WARNING ? "root" : locale, NULL, status);
}

static inline void pushmill_icu_number_format_close(UNumberFormat *format) { unum_close(format); }

static inline int32_t pushmill_icu_number_attribute(const UNumberFormat *format, UNumberFormatAttribute attribute) {
    return unum_getAttribute(format, attribute);
}

/// How many digits must precede the first separator for there to be one: Spanish groups 12345, but not 1234.
static inline int32_t pushmill_icu_minimum_grouping(UNumberFormat *format, int32_t group, UErrorCode *status) {
    unum_setAttribute(format, UNUM_MINIMUM_GROUPING_DIGITS, UNUM_MINIMUM_GROUPING_DIGITS_AUTO);
    int64_t number = 1;
    for (int32_t digits = 0; digits < group; digits++) number *= 10;
    for (int32_t least = 1; least < 4; least++, number *= 10) {
        UChar text[pushmill_icu_text_capacity];
        UFieldPosition separator = {UNUM_GROUPING_SEPARATOR_FIELD, 0, 0};
        unum_formatInt64(format, number, text, pushmill_icu_text_capacity, &separator, status);
        if (separator.endIndex > 0) return least;
    }
    return 1;
}

static inline int32_t pushmill_icu_number_symbol(
    const UNumberFormat *format, UNumberFormatSymbol symbol, char *utf8, UErrorCode *status
) {
    UChar text[pushmill_icu_text_capacity];
    int32_t length = unum_getSymbol(format, symbol, text, pushmill_icu_text_capacity, status);
    return U_SUCCESS(*status) ? pushmill_icu_utf8(text, length, utf8, status) : 0;
}

static inline int32_t pushmill_icu_number_affix(
    const UNumberFormat *format, UNumberFormatTextAttribute affix, char *utf8, UErrorCode *status
) {
    UChar text[pushmill_icu_text_capacity];
    int32_t length = unum_getTextAttribute(format, affix, text, pushmill_icu_text_capacity, status);
    return U_SUCCESS(*status) ? pushmill_icu_utf8(text, length, utf8, status) : 0;
}

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
