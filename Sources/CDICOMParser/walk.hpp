#ifndef CDICOM_WALK_HPP
#define CDICOM_WALK_HPP

#include "element.hpp"

#include "cdicom/dataset.hpp"

namespace cdicom {

/// The maximum number of bytes stored of one header; a header with a quarter of a million frames has fewer.
const size_t maximum_kept_bytes = size_t(1) << 27;

/// Visits the elements one by one and stores those listed in kept_elements.hpp.
class Walk {
  public:
    /// `not_understood` is any data that this code does not understand with certainty.
    enum class Outcome { fine, not_understood, too_deep, too_much };

    Walk(Bytes &bytes, bool is_explicit, bool is_big_endian, bool with_frames)
        : reader_(bytes, is_big_endian), is_explicit_(is_explicit), with_frames_(with_frames) {}

    /// A data set up to its pixels.
    Outcome data_set(uint64_t at, Node &node, PixelElement &pixels);

    /// Reads the file meta information from `at`, which is then behind it.
    static bool meta_information(Bytes &bytes, uint64_t &at, Node &meta);

  private:
    /// The end of a run of elements: at `end`, or at a delimiter. `depth` is the number of enclosing sequences.
    struct Scope {
        uint64_t end;
        bool is_delimited;
        int depth;
        bool is_implicit;
    };

    Outcome elements(uint64_t &at, const Scope &scope, Node *node);
    Outcome element(uint64_t &at, const ElementHead &head, const Scope &scope, Node *node);
    Outcome sequence(uint64_t &at, const Scope &scope, bool has_fragments, std::vector<Node> *items);
    Outcome item(uint64_t &at, const ElementHead &head, const Scope &scope, Node *node);
    Outcome pixel_element(const ElementHead &head, bool &is_last);
    Outcome extended_offsets(const ElementHead &head);
    bool is_wanted(const ElementHead &head, const Node &node) const;
    bool keep(const ElementHead &head, Node &node);

    ElementReader reader_;
    const bool is_explicit_, with_frames_;
    PixelElement *pixels_ = nullptr;
    size_t nodes_ = 0, kept_ = 0;
};

}  // namespace cdicom

#endif
