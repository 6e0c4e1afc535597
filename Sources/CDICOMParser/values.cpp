#include "reading.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

namespace {

template <typename T>
T number_at(const char *bytes, bool big) {
    unsigned char turned[sizeof(T)];
    for (size_t index = 0; index < sizeof(T); index += 1) {
        turned[index] = static_cast<unsigned char>(bytes[big ? sizeof(T) - 1 - index : index]);
    }
    T value;
    std::memcpy(&value, turned, sizeof value);
    return value;
}

template <typename T>
std::vector<double> all_numbers(const cdicom::Value &value) {
    std::vector<double> numbers;
    if (value.bytes.size() % sizeof(T) != 0) return {};
    for (size_t at = 0; at + sizeof(T) <= value.bytes.size(); at += sizeof(T)) {
        const double number = static_cast<double>(number_at<T>(value.bytes.data() + at, value.big));
        if (!std::isfinite(number)) return {};
        numbers.push_back(number);
    }
    return numbers;
}

}  // namespace

namespace cdicom {

std::string Value::text() const {
    // A zero byte inside a text ends it for every reader.
    const std::string text = bytes.substr(0, bytes.find('\0'));
    const size_t start = text.find_first_not_of(' ');
    if (start == std::string::npos) return "";
    return text.substr(start, text.find_last_not_of(' ') - start + 1);
}

bool Value::is_binary() const {
    static const char *const binary[] = {"US", "OW", "SS", "UL", "OL", "SL", "FL", "OF", "FD", "OD", "OV", "UV"};
    return std::any_of(std::begin(binary), std::end(binary),
                       [this](const char *name) { return vr[0] == name[0] && vr[1] == name[1]; });
}

std::vector<double> Value::numbers() const {
    const auto is = [this](const char *name) { return vr[0] == name[0] && vr[1] == name[1]; };
    if (is("US") || is("OW")) return all_numbers<uint16_t>(*this);
    if (is("SS")) return all_numbers<int16_t>(*this);
    if (is("UL") || is("OL")) return all_numbers<uint32_t>(*this);
    if (is("SL")) return all_numbers<int32_t>(*this);
    if (is("FL") || is("OF")) return all_numbers<float>(*this);
    if (is("FD") || is("OD")) return all_numbers<double>(*this);
    if (is("OV") || is("UV")) return all_numbers<uint64_t>(*this);
    std::vector<double> numbers;
    const char *at = bytes.data(), *end = at + bytes.size();
    while (at < end && numbers.size() < 4096) {
        const char *stop = std::find(at, end, '\\');
        double number = 0;
        if (!plain_decimal(at, stop, number)) return {};
        numbers.push_back(number);
        at = stop == end ? end : stop + 1;
    }
    return numbers;
}

const Value *Node::find(uint32_t tag) const {
    const auto found = values.find(tag);
    return found == values.end() ? nullptr : &found->second;
}

std::string Node::text(uint32_t tag) const {
    const Value *value = find(tag);
    return value ? value->text() : "";
}

const Node *Node::item(uint32_t tag) const {
    const auto found = sequences.find(tag);
    return found == sequences.end() || found->second.empty() ? nullptr : &found->second.front();
}

}  // namespace cdicom
