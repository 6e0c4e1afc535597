#include "element.hpp"

#include "cdicom/dataset.hpp"
#include "cdicom/tags.hpp"

#include <cstring>

namespace {

/// `is_long`: with two reserved bytes and a four-byte length.
bool is_known_representation(const uint8_t *vr, bool &is_long) {
    static const char long_ones[] = "OBOWOFODOLOVSQUNUTUCURSVUV";
    static const char short_ones[] = "AEASATCSDADSDTFLFDISLOLTPNSHSLSSSTTMUIULUS";
    for (const char *at = long_ones; *at; at += 2) {
        if (vr[0] == at[0] && vr[1] == at[1]) return is_long = true;
    }
    is_long = false;
    for (const char *at = short_ones; *at; at += 2) {
        if (vr[0] == at[0] && vr[1] == at[1]) return true;
    }
    return false;
}

}  // namespace

bool cdicom::ElementReader::head(uint64_t at, bool is_implicit, ElementHead &head) {
    const uint8_t *start = bytes_.view(at, 8);
    if (!start) return false;
    head.tag = static_cast<uint32_t>(u16(start)) << 16 | u16(start + 2);
    head.value = at + 8;
    const bool is_item = tag::group_of(head.tag) == tag::item_group;
    if (is_implicit || is_item) {
        head.length = u32(start + 4);
        const char *vr = is_item ? nullptr : kept_representation(head.tag);
        std::memcpy(head.vr, vr ? vr : "UN", 2);
        return true;
    }
    bool is_long = false;
    if (!is_known_representation(start + 4, is_long)) return false;
    std::memcpy(head.vr, start + 4, 2);
    if (!is_long) {
        head.length = u16(start + 6);
        return true;
    }
    const uint8_t *length = bytes_.view(at + 8, 4);
    if (!length) return false;
    head.length = u32(length);
    head.value = at + 12;
    return true;
}
