#ifndef CDICOM_TAGS_HPP
#define CDICOM_TAGS_HPP

#include <cstdint>

/// The tags that are read, named by their keywords in DICOM PS3.6.
namespace cdicom::tag {

#define KEPT(name, tag, representation) constexpr uint32_t name = tag;
#include "kept_elements.hpp"

// Pixels.
constexpr uint32_t ExtendedOffsetTable = 0x7FE00001;
constexpr uint32_t FloatPixelData = 0x7FE00008;
constexpr uint32_t DoubleFloatPixelData = 0x7FE00009;
constexpr uint32_t PixelData = 0x7FE00010;

// Items of sequences and fragments of pixels, which have no representation.
constexpr uint32_t Item = 0xFFFEE000;
constexpr uint32_t ItemDelimitationItem = 0xFFFEE00D;
constexpr uint32_t SequenceDelimitationItem = 0xFFFEE0DD;

constexpr uint32_t group_of(uint32_t tag) { return tag >> 16; }

/// Block 10 in place of any other block of the groups whose private blocks are found by their creators; other tags as they are.
constexpr uint32_t in_first_block(uint32_t tag) {
    const uint32_t element = tag & 0xFFFF;
    if (group_of(tag) != group_of(PrivateCreator0009) && group_of(tag) != group_of(PrivateCreator7053)) return tag;
    if (element >= 0x10 && element <= 0xFF) return (tag & 0xFFFF0000) | 0x10;
    return element >= 0x1000 ? (tag & 0xFFFF00FF) | 0x1000 : tag;
}
constexpr uint32_t pixel_group = 0x7FE0, item_group = 0xFFFE;

}  // namespace cdicom::tag

#endif
