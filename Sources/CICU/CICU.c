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

/// How many digits must precede the first separator for `format` to write one.
static int32_t minimum_grouping(UNumberFormat *format, int32_t group, UErrorCode *status) {
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

int32_t pushmill_icu_read_numbers(const char *locale, struct pushmill_icu_numbers *numbers) {
    static const UNumberFormatSymbol symbols[] = {
        UNUM_ZERO_DIGIT_SYMBOL, UNUM_ONE_DIGIT_SYMBOL, UNUM_TWO_DIGIT_SYMBOL, UNUM_THREE_DIGIT_SYMBOL,
        UNUM_FOUR_DIGIT_SYMBOL, UNUM_FIVE_DIGIT_SYMBOL, UNUM_SIX_DIGIT_SYMBOL, UNUM_SEVEN_DIGIT_SYMBOL,
        UNUM_EIGHT_DIGIT_SYMBOL, UNUM_NINE_DIGIT_SYMBOL, UNUM_DECIMAL_SEPARATOR_SYMBOL, UNUM_GROUPING_SEPARATOR_SYMBOL,
        UNUM_PLUS_SIGN_SYMBOL,
    };
    enum { capacity = pushmill_icu_text_capacity, affixes = sizeof symbols / sizeof *symbols };
    UErrorCode found = U_ZERO_ERROR;
    ures_close(ures_open(NULL, locale, &found));
    UErrorCode status = U_ZERO_ERROR;
    const char *known = found == U_USING_DEFAULT_WARNING ? "root" : locale;
    UNumberFormat *format = unum_open(UNUM_DECIMAL, NULL, 0, known, NULL, &status);
    if (U_FAILURE(status)) return status;
    for (int i = 0; i < affixes + 2; i++) {
        UChar text[capacity];
        int32_t length;
        if (i < affixes) length = unum_getSymbol(format, symbols[i], text, capacity, &status);
        else length = unum_getTextAttribute(format, UNUM_NEGATIVE_PREFIX + i - affixes, text, capacity, &status);
        // The last byte stays zero.
        u_strToUTF8(numbers->texts[i], capacity - 1, NULL, text, length, &status);
    }
    numbers->last_group = unum_getAttribute(format, UNUM_GROUPING_SIZE);
    numbers->other_groups = unum_getAttribute(format, UNUM_SECONDARY_GROUPING_SIZE);
    numbers->minimum_grouping = minimum_grouping(format, numbers->last_group, &status);
    unum_close(format);
    return status;
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
