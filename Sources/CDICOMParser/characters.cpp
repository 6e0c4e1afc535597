#include "cdicom/characters.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <iconv.h>

namespace {

/// A set of the standard: the number of its registration, iconv's name, and what follows ESC to select it (PS3.3, tables
/// C.12-3 and C.12-4).
struct CharacterSet {
    int registration;
    const char *name;
    const char *escape;
};

const char escape = 0x1B;

/// Sets of bytes from 0x80 on; bytes below are ASCII in all of them. In ISO_IR 13, programs write Shift JIS.
constexpr CharacterSet upper_sets[] = {
    {100, "ISO-8859-1", "-A"},  {101, "ISO-8859-2", "-B"}, {109, "ISO-8859-3", "-C"},  {110, "ISO-8859-4", "-D"},
    {144, "ISO-8859-5", "-L"},  {127, "ISO-8859-6", "-G"}, {126, "ISO-8859-7", "-F"},  {138, "ISO-8859-8", "-H"},
    {148, "ISO-8859-9", "-M"},  {203, "ISO-8859-15", "-b"}, {166, "TIS-620", "-T"},    {13, "CP932", ")I"},
    {149, "EUC-KR", "$)C"},     {58, "GB2312", "$)A"},     {192, "UTF-8", ""},
};

/// Sets of two bytes below 0x80, which replace ASCII. EUC-JP has both: the first with both high bits set, the second also behind 0x8F.
enum class Lower { ascii, jis_x_0208, jis_x_0212 };

const std::string replacement = "\xEF\xBF\xBD";

bool is_ascii(const std::string &bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

/// Converts a text; what the set does not have is replaced.
std::string converted(const std::string &bytes, const char *name) {
    const iconv_t converter = iconv_open("UTF-8", name);
    std::string text;
    std::string source = bytes;
    char *at = source.data();
    size_t left = source.size();
    while (left > 0) {
        char made[256];
        char *end = made;
        size_t room = sizeof made;
        const bool is_open = converter != reinterpret_cast<iconv_t>(-1);
        const size_t result = is_open ? iconv(converter, &at, &left, &end, &room) : static_cast<size_t>(-1);
        text.append(made, end);
        if (result != static_cast<size_t>(-1) || (is_open && errno == E2BIG)) continue;
        // A set that this system does not have still has ASCII.
        if (static_cast<unsigned char>(*at) < 0x80) text += *at;
        else text += replacement;
        at += 1;
        left -= 1;
    }
    if (converter != reinterpret_cast<iconv_t>(-1)) iconv_close(converter);
    return text;
}

/// Converts a run of bytes with one selection of sets.
std::string converted(const std::string &run, Lower lower, const std::string &upper) {
    if (run.empty()) return "";
    if (lower != Lower::ascii) {
        std::string turned;
        for (size_t at = 0; at < run.size(); at += 1) {
            const bool starts_pair = lower == Lower::jis_x_0212 && at % 2 == 0;
            if (starts_pair) turned += '\x8F';
            turned += static_cast<char>(run[at] | 0x80);
        }
        return converted(turned, "EUC-JP");
    }
    return is_ascii(run) ? run : converted(run, upper.empty() ? "ISO-8859-1" : upper.c_str());
}

/// The sets that escape sequences have selected.
struct Selection {
    Lower lower = Lower::ascii;
    std::string upper;

    /// Takes the escape sequence whose ESC is before `at`; returns its length without ESC, 0 for an unknown one.
    size_t take(const std::string &text, size_t at) {
        const auto starts = [&](const char *sequence) {
            return *sequence && text.compare(at, std::strlen(sequence), sequence) == 0;
        };
        if (starts("(B") || starts("(J")) {
            lower = Lower::ascii;
            return 2;
        }
        if (starts("$B")) {
            lower = Lower::jis_x_0208;
            return 2;
        }
        if (starts("$(D")) {
            lower = Lower::jis_x_0212;
            return 3;
        }
        for (const CharacterSet &set : upper_sets) {
            if (!starts(set.escape)) continue;
            upper = set.name;
            return std::strlen(set.escape);
        }
        return 0;
    }
};

}  // namespace

namespace cdicom {

CharacterSets::CharacterSets(const std::string &stated) {
    std::string term = stated.substr(0, stated.find('\\'));
    term.erase(std::remove_if(term.begin(), term.end(), [](unsigned char byte) { return !std::isalnum(byte); }),
               term.end());
    std::transform(term.begin(), term.end(), term.begin(), [](unsigned char byte) { return std::toupper(byte); });
    if (term == "GB18030" || term == "GBK") {
        // The larger set of both.
        first_ = "GB18030";
    } else if (term == "UTF8") {
        first_ = "UTF-8";
    } else if (term.compare(0, 3, "ISO") == 0) {
        size_t digits = term.size();
        while (digits > 0 && std::isdigit(static_cast<unsigned char>(term[digits - 1]))) digits -= 1;
        const std::string number = term.substr(digits);
        for (const CharacterSet &set : upper_sets) {
            if (number == std::to_string(set.registration) && set.registration != 100) first_ = set.name;
        }
    }
}

std::string CharacterSets::utf8(const std::string &bytes, bool is_name) const {
    const bool has_escape = bytes.find(escape) != std::string::npos;
    if (!has_escape && is_ascii(bytes)) return bytes;
    if (first_.empty() && !has_escape && converted(bytes, "UTF-8") == bytes) return bytes;
    // These have no escape sequences, and second bytes that are ^ or \ in ASCII.
    if (first_ == "GB18030" || first_ == "UTF-8") return converted(bytes, first_.c_str());
    return with_escapes(bytes, is_name);
}

std::string CharacterSets::with_escapes(const std::string &bytes, bool is_name) const {
    const Selection initial{Lower::ascii, first_};
    Selection selection = initial;
    std::string text, run;
    const auto finish = [&] {
        text += converted(run, selection.lower, selection.upper);
        run.clear();
    };
    for (size_t at = 0; at < bytes.size(); at += 1) {
        const char byte = bytes[at];
        if (byte == escape) {
            finish();
            at += selection.take(bytes, at + 1);
            continue;
        }
        const bool is_control = static_cast<unsigned char>(byte) < 0x20;
        // A second byte of Shift JIS or of a pair may be a delimiter in ASCII: there it ends nothing.
        const bool ends = is_control
            || (selection.lower == Lower::ascii && selection.upper != "CP932"
                && (byte == '\\' || (is_name && (byte == '^' || byte == '='))));
        if (ends) {
            finish();
            selection = initial;
        }
        run += byte;
    }
    finish();
    return text;
}

}  // namespace cdicom
