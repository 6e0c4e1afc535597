#include "cdicom/frames.hpp"

bool cdicom::read_table(const Node &node, uint32_t descriptor, uint32_t data, bool is_signed, Table &table) {
    double facts[3];
    const Value *stored = node.find(data);
    if (!node.numbers(descriptor, facts, 3) || !stored) return false;
    // The number cannot represent 65536 entries and is then 0; in a signed descriptor large numbers are negative.
    const auto unsigned_number = [](double value) { return static_cast<int64_t>(value) & 0xFFFF; };
    const size_t count = unsigned_number(facts[0]) == 0 ? 65536 : static_cast<size_t>(unsigned_number(facts[0]));
    table.first = static_cast<int64_t>(facts[1]);
    if (is_signed && table.first > 32767) table.first -= 65536;
    if (!is_signed && table.first < 0) table.first += 65536;
    const int64_t bits = unsigned_number(facts[2]);
    if (bits < 1 || bits > 16) return false;
    table.bits = static_cast<unsigned>(bits);
    const bool is_text = stored->vr[0] != 'U' && stored->vr[0] != 'S' && stored->vr[0] != 'O';
    table.entries.clear();
    if (!is_text && stored->bytes.size() < count * 2 && stored->bytes.size() >= count) {
        // Two entries of eight bits in each word.
        for (size_t index = 0; index < count; index += 1) {
            const size_t place = stored->big ? index ^ 1 : index;
            if (place >= stored->bytes.size()) return false;
            table.entries.push_back(static_cast<uint8_t>(stored->bytes[place]));
        }
        return true;
    }
    Value words = *stored;
    if (!is_text) words.vr[0] = 'U', words.vr[1] = 'S';
    const std::vector<double> numbers = words.numbers();
    if (numbers.size() < count) return false;
    const uint32_t mask = (1u << table.bits) - 1;
    for (size_t index = 0; index < count; index += 1) {
        table.entries.push_back(static_cast<uint16_t>(static_cast<uint32_t>(unsigned_number(numbers[index])) & mask));
    }
    return true;
}
