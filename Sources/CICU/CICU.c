#include "CICU.h"

#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/unum.h>
#include <unicode/upluralrules.h>
#include <unicode/ures.h>
#include <unicode/ustring.h>
#include <unicode/utypes.h>

_Static_assert(pushmill_icu_name_capacity == ULOC_FULLNAME_CAPACITY, "the longest name of a locale");
_Static_assert(sizeof(UErrorCode) == sizeof(int32_t), "a status is one of ICU's");

static int32_t length_of_name(int32_t count, UErrorCode status) {
    return U_SUCCESS(status) && count < ULOC_FULLNAME_CAPACITY ? count : 0;
}

// Locales

int32_t pushmill_icu_locale(const char *tag, int32_t length, char *name) {
    UErrorCode status = U_ZERO_ERROR;
    int32_t parsed = 0;
    int32_t count = uloc_forLanguageTag(tag, name, ULOC_FULLNAME_CAPACITY, &parsed, &status);
    return parsed == length ? length_of_name(count, status) : 0;
}

int32_t pushmill_icu_language_alias(const char *language, char *name) {
    static const char *const path[] = {"alias", "language"};
    UErrorCode status = U_ZERO_ERROR;
    UResourceBundle *table = ures_openDirect(NULL, "metadata", &status);
    for (int i = 0; i < 2; i++) table = ures_getByKey(table, path[i], table, &status);
    UResourceBundle *alias = ures_getByKey(table, language, NULL, &status);
    int32_t count = ULOC_FULLNAME_CAPACITY;
    ures_getUTF8StringByKey(alias, "replacement", name, &count, 1, &status);
    ures_close(alias);
    ures_close(table);
    return length_of_name(count, status);
}

int32_t pushmill_icu_likely(const char *name, char *likely) {
    UErrorCode status = U_ZERO_ERROR;
    int32_t count = uloc_addLikelySubtags(name, likely, ULOC_FULLNAME_CAPACITY, &status);
    return length_of_name(count, status);
}

const char *pushmill_icu_script(const char *name) {
    return u_getPropertyValueName(UCHAR_SCRIPT, u_getPropertyValueEnum(UCHAR_SCRIPT, name), U_SHORT_PROPERTY_NAME);
}

// Plural rules

static UPluralRules *rules_of(const struct pushmill_icu_plural_rules *rules) { return (UPluralRules *)rules; }

struct pushmill_icu_plural_rules *pushmill_icu_plural_rules_open(const char *locale, int32_t *status) {
    UErrorCode code = *status;
    UPluralRules *rules = uplrules_openForType(locale, UPLURAL_TYPE_CARDINAL, &code);
    *status = code;
    return (struct pushmill_icu_plural_rules *)rules;
}

void pushmill_icu_plural_rules_close(struct pushmill_icu_plural_rules *rules) { uplrules_close(rules_of(rules)); }

int32_t pushmill_icu_plural_category(const struct pushmill_icu_plural_rules *rules, double number) {
    UChar keyword[16] = {0};
    UErrorCode status = U_ZERO_ERROR;
    uplrules_select(rules_of(rules), number, keyword, 16, &status);
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

static UNumberFormat *format_of(const struct pushmill_icu_number_format *format) { return (UNumberFormat *)format; }

struct pushmill_icu_number_format *pushmill_icu_number_format_open(const char *locale, int32_t *status) {
    UErrorCode code = *status;
    UErrorCode found = U_ZERO_ERROR;
    ures_close(ures_open(NULL, locale, &found));
    const char *known = found == U_USING_DEFAULT_WARNING ? "root" : locale;
    UNumberFormat *format = unum_open(UNUM_DECIMAL, NULL, 0, known, NULL, &code);
    *status = code;
    return (struct pushmill_icu_number_format *)format;
}

void pushmill_icu_number_format_close(struct pushmill_icu_number_format *format) { unum_close(format_of(format)); }

int32_t pushmill_icu_last_group(const struct pushmill_icu_number_format *format) {
    return unum_getAttribute(format_of(format), UNUM_GROUPING_SIZE);
}

int32_t pushmill_icu_other_groups(const struct pushmill_icu_number_format *format) {
    return unum_getAttribute(format_of(format), UNUM_SECONDARY_GROUPING_SIZE);
}

int32_t pushmill_icu_minimum_grouping(struct pushmill_icu_number_format *format, int32_t group, int32_t *status) {
    UErrorCode code = *status;
    unum_setAttribute(format_of(format), UNUM_MINIMUM_GROUPING_DIGITS, UNUM_MINIMUM_GROUPING_DIGITS_AUTO);
    int64_t number = 1;
    for (int32_t digits = 0; digits < group; digits++) number *= 10;
    int32_t found = 1;
    for (int32_t least = 1; least < 4; least++, number *= 10) {
        UChar text[pushmill_icu_text_capacity];
        UFieldPosition separator = {UNUM_GROUPING_SEPARATOR_FIELD, 0, 0};
        unum_formatInt64(format_of(format), number, text, pushmill_icu_text_capacity, &separator, &code);
        if (separator.endIndex > 0) {
            found = least;
            break;
        }
    }
    *status = code;
    return found;
}

/// Writes what ICU gave.
static int32_t write(const UChar *text, int32_t length, UErrorCode code, char *utf8, int32_t *status) {
    int32_t count = 0;
    if (U_SUCCESS(code)) u_strToUTF8(utf8, pushmill_icu_text_capacity, &count, text, length, &code);
    *status = code;
    return U_SUCCESS(code) ? count : 0;
}

static int32_t write_symbol(
    const struct pushmill_icu_number_format *format, UNumberFormatSymbol symbol, char *utf8, int32_t *status
) {
    UErrorCode code = *status;
    UChar text[pushmill_icu_text_capacity];
    int32_t length = unum_getSymbol(format_of(format), symbol, text, pushmill_icu_text_capacity, &code);
    return write(text, length, code, utf8, status);
}

static int32_t write_affix(
    const struct pushmill_icu_number_format *format, UNumberFormatTextAttribute affix, char *utf8, int32_t *status
) {
    UErrorCode code = *status;
    UChar text[pushmill_icu_text_capacity];
    int32_t length = unum_getTextAttribute(format_of(format), affix, text, pushmill_icu_text_capacity, &code);
    return write(text, length, code, utf8, status);
}

int32_t pushmill_icu_write_symbol(
    const struct pushmill_icu_number_format *format, enum pushmill_icu_symbol symbol, char *utf8, int32_t *status
) {
    switch (symbol) {
    case pushmill_icu_decimal_separator: return write_symbol(format, UNUM_DECIMAL_SEPARATOR_SYMBOL, utf8, status);
    case pushmill_icu_group_separator: return write_symbol(format, UNUM_GROUPING_SEPARATOR_SYMBOL, utf8, status);
    case pushmill_icu_plus: return write_symbol(format, UNUM_PLUS_SIGN_SYMBOL, utf8, status);
    case pushmill_icu_negative_prefix: return write_affix(format, UNUM_NEGATIVE_PREFIX, utf8, status);
    case pushmill_icu_negative_suffix: return write_affix(format, UNUM_NEGATIVE_SUFFIX, utf8, status);
    }
}

int32_t pushmill_icu_write_digit(
    const struct pushmill_icu_number_format *format, int32_t number, char *utf8, int32_t *status
) {
    UNumberFormatSymbol digit = number == 0 ? UNUM_ZERO_DIGIT_SYMBOL : UNUM_ONE_DIGIT_SYMBOL + number - 1;
    return write_symbol(format, digit, utf8, status);
}

// Text direction

int32_t pushmill_icu_direction(int32_t scalar) {
    switch (u_charDirection(scalar)) {
    case U_LEFT_TO_RIGHT: return 1;
    case U_RIGHT_TO_LEFT:
    case U_RIGHT_TO_LEFT_ARABIC: return 2;
    default: return 0;
    }
}
