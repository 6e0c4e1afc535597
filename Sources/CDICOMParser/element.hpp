#ifndef CDICOM_ELEMENT_HPP
#define CDICOM_ELEMENT_HPP

#include "cdicom/bytes.hpp"

namespace cdicom {

const uint32_t undefined_length = 0xFFFFFFFF;

/// Tag, representation and length of an element, and the offset of its value.
struct ElementHead {
    uint32_t tag = 0, length = 0;
    char vr[2] = {0, 0};
    uint64_t value = 0;

    bool is(const char *name) const { return vr[0] == name[0] && vr[1] == name[1]; }
};

/// Decodes the heads of elements in one byte order.
class ElementReader {
  public:
    ElementReader(Bytes &bytes, bool is_big_endian) : bytes_(bytes), is_big_endian_(is_big_endian) {}

    uint16_t u16(const uint8_t *at) const {
        return static_cast<uint16_t>(is_big_endian_ ? at[0] << 8 | at[1] : at[1] << 8 | at[0]);
    }
    uint32_t u32(const uint8_t *at) const {
        return is_big_endian_ ? static_cast<uint32_t>(u16(at)) << 16 | u16(at + 2)
                              : static_cast<uint32_t>(u16(at + 2)) << 16 | u16(at);
    }

    /// False when there are not enough bytes, or the representation is unknown. Whether the value exists is not
    /// checked.
    bool head(uint64_t at, bool is_implicit, ElementHead &head);

    Bytes &bytes() const { return bytes_; }
    bool is_big_endian() const { return is_big_endian_; }

  private:
    Bytes &bytes_;
    const bool is_big_endian_;
};

}  // namespace cdicom

#endif
