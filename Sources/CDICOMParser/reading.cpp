#include "reading.hpp"

#include "cdicom/tags.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <strings.h>

namespace {

using cdicom::Reading;
using cdicom::Value;
namespace tag = cdicom::tag;

/// The unit that a number may have behind it, because the standard gives the element this unit; empty for the others.
const char *unit_of(uint32_t tag) {
    switch (tag) {
        case tag::RescaleIntercept: return "HU";
        case tag::PixelSpacing:
        case tag::SliceThickness:
        case tag::SpacingBetweenSlices:
        case tag::ImagePositionPatient: return "mm";
        case tag::EchoTime:
        case tag::FrameReferenceTime:
        case tag::ActualFrameDuration:
        case tag::TriggerTime: return "ms";
        case tag::RadionuclideTotalDose: return "Bq";
        case tag::RadionuclideHalfLife: return "s";
        case tag::PatientWeight: return "kg";
        default: return "";
    }
}

bool is_space(char character) { return character == ' ' || (character >= '\t' && character <= '\r'); }

bool is_digit(char character) { return character >= '0' && character <= '9'; }

std::string trimmed(const std::string &text) {
    size_t start = 0, end = text.size();
    while (start < end && is_space(text[start])) start += 1;
    while (end > start && is_space(text[end - 1])) end -= 1;
    return text.substr(start, end - start);
}

/// Whether a comma may separate thousands: -1,024.
bool may_be_thousands(const std::string &text, size_t comma) {
    size_t first = 0;
    if (first < comma && (text[first] == '-' || text[first] == '+')) first += 1;
    if (comma == first || comma - first > 3 || text[first] == '0' || text.size() - comma != 4) return false;
    return std::all_of(text.begin() + static_cast<ptrdiff_t>(comma) + 1, text.end(), is_digit);
}

/// A number with white space, the element's own unit, or a decimal comma, in which it still has one meaning.
bool repaired_decimal(std::string text, const char *unit, double &value) {
    text = trimmed(text.substr(0, text.find('\0')));
    const size_t length = std::strlen(unit);
    if (length > 0 && text.size() > length && strcasecmp(text.c_str() + text.size() - length, unit) == 0) {
        text = trimmed(text.substr(0, text.size() - length));
    }
    const size_t comma = text.find(',');
    if (comma != std::string::npos) {
        if (comma == 0 || !is_digit(text[comma - 1]) || may_be_thousands(text, comma)) return false;
        if (text.find('.') != std::string::npos || text.find(',', comma + 1) != std::string::npos) return false;
        text[comma] = '.';
    }
    return cdicom::plain_decimal(text.data(), text.data() + text.size(), value);
}

struct Numbers {
    std::vector<double> values;
    bool is_exact = true;
};

/// The numbers of a text. False if one is none. Empty values behind the last number do not count.
bool text_numbers(const Value &value, uint32_t tag, Numbers &numbers) {
    // More than any element of numbers that is read has.
    const size_t most = 4096;
    std::vector<std::string> parts;
    size_t at = 0;
    for (size_t stop = 0; stop != std::string::npos && parts.size() < most; at = stop + 1) {
        stop = value.bytes.find('\\', at);
        parts.push_back(value.bytes.substr(at, stop == std::string::npos ? stop : stop - at));
    }
    while (!parts.empty() && trimmed(parts.back().c_str()).empty()) {
        parts.pop_back();
        numbers.is_exact = false;
    }
    for (const std::string &part : parts) {
        double number = 0;
        if (!cdicom::plain_decimal(part.data(), part.data() + part.size(), number)) {
            if (!repaired_decimal(part, unit_of(tag), number)) return false;
            numbers.is_exact = false;
        }
        numbers.values.push_back(number);
    }
    return true;
}

/// False for numbers in binary of which one is not finite.
bool read_all(const Value &value, uint32_t tag, Numbers &numbers) {
    if (!value.is_binary()) return text_numbers(value, tag, numbers);
    numbers.values = value.numbers();
    return !numbers.values.empty();
}

/// As many numbers as the element has, of those that are there.
Reading fit(uint32_t tag, Numbers &numbers, size_t count, bool more_allowed) {
    std::vector<double> &all = numbers.values;
    if (all.size() < count) {
        // The same distance in both directions.
        if (tag != tag::PixelSpacing || all.size() != 1) return Reading::unusable;
        all.push_back(all[0]);
        return Reading::repaired;
    }
    if (all.size() > count && !more_allowed) {
        const bool are_equal = std::all_of(all.begin(), all.end(), [&all](double one) { return one == all[0]; });
        if (count != 1 || !are_equal) return Reading::unusable;
        all.resize(1);
        return Reading::repaired;
    }
    return numbers.is_exact ? Reading::exact : Reading::repaired;
}

bool is_blank(const Value &value) {
    return std::all_of(value.bytes.begin(), value.bytes.end(), [](char character) {
        return is_space(character) || character == '\0' || character == '\\';
    });
}

std::string joined(const double *values, size_t count) {
    std::string text;
    for (size_t index = 0; index < count; index += 1) {
        char number[32];
        const auto made = std::to_chars(number, number + sizeof number, values[index]);
        if (index > 0) text += '\\';
        text.append(number, made.ptr);
    }
    return text;
}

/// A value for messages: a text as it is, numbers in binary as decimals. Of a value that is neither, every byte outside of
/// printable ASCII is written as its number, as in "\x80", and at most 15 bytes are shown.
std::string shown(const cdicom::Value &value) {
    const std::vector<double> numbers = value.is_binary() ? value.numbers() : std::vector<double>();
    if (!numbers.empty()) return joined(numbers.data(), numbers.size());
    const std::string &bytes = value.bytes;
    const size_t end = bytes.find_last_not_of(std::string(" \0", 2)) + 1;
    const bool is_text = std::none_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(end), [](char character) {
        return (static_cast<unsigned char>(character) < 0x20 && !is_space(character)) || character == 0x7F;
    });
    if (is_text && !value.is_binary()) return value.text();
    const size_t most = 15;
    std::string text;
    for (const char character : bytes.substr(0, most)) {
        const unsigned char byte = static_cast<unsigned char>(character);
        const char *const digits = "0123456789ABCDEF";
        if (byte >= 0x20 && byte < 0x7F) {
            text += character;
        } else {
            text += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
        }
    }
    return bytes.size() > most ? text + "..." : text;
}

}  // namespace

namespace cdicom {

bool plain_decimal(const char *start, const char *end, double &value) {
    while (start < end && *start == ' ') start += 1;
    while (end > start && (end[-1] == ' ' || end[-1] == '\0')) end -= 1;
    const bool has_plus = start < end && *start == '+';
    if (has_plus) start += 1;
    const char *digits = !has_plus && start < end && *start == '-' ? start + 1 : start;
    if (digits == end || (!is_digit(*digits) && *digits != '.')) return false;
    double read = 0;
    const auto result = std::from_chars(start, end, read);
    if (result.ec != std::errc() || result.ptr != end || !std::isfinite(read)) return false;
    value = read;
    return true;
}

Reading Node::read(uint32_t tag, double *target, size_t count, bool more_allowed) const {
    const Value *value = find(tag);
    if (!value) return Reading::absent;
    if (value->is_twice) return Reading::twice;
    if (value->bytes.empty() || (!value->is_binary() && is_blank(*value))) return Reading::empty;
    Numbers numbers;
    if (!read_all(*value, tag, numbers)) return Reading::unusable;
    const Reading reading = fit(tag, numbers, count, more_allowed);
    if (reading != Reading::unusable) {
        std::copy(numbers.values.begin(), numbers.values.begin() + static_cast<ptrdiff_t>(count), target);
    }
    return reading;
}

Reading Node::read(uint32_t tag, int64_t &value, bool more_allowed) const {
    double number = 0;
    const Reading reading = read(tag, &number, 1, more_allowed);
    if (reading != Reading::exact && reading != Reading::repaired) return reading;
    if (number != std::floor(number) || std::fabs(number) > 4294967296.0) return Reading::unusable;
    value = static_cast<int64_t>(number);
    return reading;
}

bool Node::numbers(uint32_t tag, double *values, size_t count, bool more_allowed) const {
    const Reading reading = read(tag, values, count, more_allowed);
    return reading == Reading::exact || reading == Reading::repaired;
}

bool Node::integer(uint32_t tag, int64_t &value) const {
    const Reading reading = read(tag, value);
    return reading == Reading::exact || reading == Reading::repaired;
}

bool Reader::numbers(uint32_t tag, double *values, size_t count, bool more_allowed) {
    return note(tag, node_.read(tag, values, count, more_allowed), values, count);
}

bool Reader::integer(uint32_t tag, int64_t &value, bool more_allowed) {
    const Reading reading = node_.read(tag, value, more_allowed);
    const double number = static_cast<double>(value);
    return note(tag, reading, &number, 1);
}

bool Reader::seconds(uint32_t tag, double &value) {
    const Value *found = node_.find(tag);
    const std::string text = node_.text(tag);
    const Reading reading = !found                        ? Reading::absent
                            : found->is_twice             ? Reading::twice
                            : text.empty()                ? Reading::empty
                            : seconds_of_day(text, value) ? Reading::exact
                                                          : Reading::unusable;
    return note(tag, reading, &value, 1);
}

bool Reader::note(uint32_t tag, Reading reading, const double *values, size_t count) {
    int32_t kind = 0;
    switch (reading) {
        case Reading::absent: return false;
        case Reading::exact: return true;
        case Reading::empty: kind = CDICOM_VALUE_EMPTY; break;
        case Reading::repaired: kind = CDICOM_VALUE_REPAIRED; break;
        case Reading::unusable: kind = CDICOM_VALUE_UNUSABLE; break;
        case Reading::twice: kind = CDICOM_VALUE_TWICE; break;
    }
    cdicom_remark *remark = remarks_.remarks, *const end = remark + remarks_.count;
    while (remark != end && remark->tag != tag) remark += 1;
    if (remark == end && remarks_.count < CDICOM_MOST_REMARKS) {
        remarks_.count += 1;
        remark->kind = 0;
    }
    // Fewer elements are read than fit.
    if (remark != remarks_.remarks + CDICOM_MOST_REMARKS && remark->kind < kind) {
        remark->tag = tag;
        remark->kind = kind;
        copy_text(remark->text, shown(*node_.find(tag)));
        copy_text(remark->read_as, reading == Reading::repaired ? joined(values, count) : std::string());
    }
    return reading == Reading::repaired;
}

}  // namespace cdicom

bool cdicom::seconds_of_day(std::string text, double &value) {
    text.erase(std::remove(text.begin(), text.end(), ':'), text.end());
    text = text.substr(0, text.find_first_of("+-& "));
    size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') digits += 1;
    if (digits < 2 || digits > 6 || digits % 2 != 0 || (digits < text.size() && text[digits] != '.')) return false;
    double seconds = 0;
    static const struct {
        double weight;
        int most;
    } parts[] = {{3600, 23}, {60, 59}, {1, 60}};
    for (size_t at = 0; at < digits; at += 2) {
        const int number = (text[at] - '0') * 10 + text[at + 1] - '0';
        if (number > parts[at / 2].most) return false;
        seconds += parts[at / 2].weight * number;
    }
    double weight = 0.1;
    for (size_t at = digits + 1; at < text.size(); at += 1) {
        if (text[at] < '0' || text[at] > '9') return false;
        seconds += weight * (text[at] - '0');
        weight /= 10;
    }
    value = seconds;
    return true;
}
