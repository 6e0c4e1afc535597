#include "cdicom/dataset.hpp"

#include "cdicom/tags.hpp"

#include <algorithm>
#include <iterator>

namespace {

struct KeptElement {
    uint32_t tag;
    /// The representation in the dictionary, for implicit data sets.
    const char *vr;
};

namespace tag = cdicom::tag;

constexpr KeptElement kept_elements[] = {
#define KEPT(name, tag, representation) {tag, representation},
#include "cdicom/kept_elements.hpp"
};

constexpr bool is_ordered() {
    for (size_t index = 1; index < std::size(kept_elements); index += 1) {
        if (kept_elements[index - 1].tag >= kept_elements[index].tag) return false;
    }
    return true;
}
static_assert(is_ordered(), "kept_elements is searched by bisection");

}  // namespace

const char *cdicom::kept_representation(uint32_t tag) {
    tag = tag::in_first_block(tag);
    const KeptElement *end = std::end(kept_elements);
    const KeptElement *found = std::lower_bound(
        std::begin(kept_elements), end, tag, [](const KeptElement &one, uint32_t other) { return one.tag < other; });
    return found != end && found->tag == tag ? found->vr : nullptr;
}
