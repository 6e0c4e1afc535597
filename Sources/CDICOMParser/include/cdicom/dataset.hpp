#ifndef CDICOM_DATASET_HPP
#define CDICOM_DATASET_HPP

#include "bytes.hpp"
#include "syntax.hpp"

#include <map>
#include <mutex>

namespace cdicom {

/// The maximum number of items kept of one sequence, such as frames; a series of images has a tenth of that.
const size_t maximum_items = size_t(1) << 18;

/// One value as stored, with the information needed to interpret it.
struct Value {
    char vr[2] = {'U', 'N'};
    bool big = false;
    /// Whether the element was found again with other bytes.
    bool is_twice = false;
    std::string bytes;

    /// Whether its numbers are stored in binary, not as text.
    bool is_binary() const;
    /// Without the padding defined by the standard.
    std::string text() const;
    /// All of its numbers; empty when one of them is not a finite number.
    std::vector<double> numbers() const;
};

/// What the value of an element with numbers is.
enum class Reading { absent, empty, exact, repaired, unusable, twice };

/// The elements of a data set, or of an item, that are listed in kept_elements.hpp.
struct Node {
    std::map<uint32_t, Value> values;
    std::map<uint32_t, std::vector<Node>> sequences;

    const Value *find(uint32_t tag) const;
    std::string text(uint32_t tag) const;
    /// Reads `count` finite numbers: the only place that distinguishes what is there from what is not. `values` change only if the
    /// result is exact or repaired. The element must contain exactly these unless more are allowed.
    Reading read(uint32_t tag, double *values, size_t count, bool more_allowed = false) const;
    Reading read(uint32_t tag, int64_t &value, bool more_allowed = false) const;
    /// The same; false when the numbers are not there or unusable.
    bool numbers(uint32_t tag, double *values, size_t count, bool more_allowed = false) const;
    bool integer(uint32_t tag, int64_t &value) const;
    /// The first item of a sequence.
    const Node *item(uint32_t tag) const;
};

/// Where the pixels of an object are.
struct PixelElement {
    enum Kind { none = 0, cells = 1, floats = 2, doubles = 3 };
    struct Piece {
        uint64_t at = 0, length = 0;
    };

    Kind kind = none;
    bool encapsulated = false;
    bool big = false;
    /// Whether the cells are stored in 16-bit words (OW), which matters for cells of 8 bits in big endian.
    bool in_words = false;
    /// Native: the position, and the length as stated.
    Piece native;
    /// Encapsulated: the fragments after the offset table.
    std::vector<Piece> fragments;
    std::vector<uint64_t> offsets;
    /// The first fragment of each frame, once that is known.
    std::vector<size_t> starts;
    std::vector<std::string> notes;
};

/// The data of an object without its pixels.
struct Object {
    Node meta, set;
    PixelElement pixels;
    /// Held while the header of a deflated file is read; see ``read_object``. Released after `bytes`.
    std::unique_lock<std::mutex> turn;
    /// The source of the bytes that `pixels` refers to.
    std::unique_ptr<Bytes> bytes;
    int64_t file_size = 0;
    /// As stated; `syntax` is null for an unknown one.
    std::string syntax_uid;
    const TransferSyntax *syntax = nullptr;
    /// The offset of the data set in `bytes`.
    uint64_t start = 0;
    /// Whether the data set is explicit where its syntax is implicit, or the reverse.
    bool is_misstated = false;
};

/// Reads everything before the pixels, and locates the pixels. The functional groups of frames are kept with
/// `with_frames`, the fragments of compressed pixels are located without it.
///
/// A deflated data set is inflated into memory. Headers are read by many threads before any memory is planned, so with
/// `with_frames` one deflated file is read at a time: `object` must not live longer than the reading of one header.
///
/// Returns CDICOM_NOT_UNDERSTOOD for a file that DCMTK should read; only `file_size` of `object` is then valid.
cdicom_code read_object(const char *path, bool with_frames, Object &object, cdicom_error *error);

/// The representation of an element that is stored; null for all others.
const char *kept_representation(uint32_t tag);

/// Whether the private block of group 0065 is that of United Imaging.
bool is_united_imaging(const Node &set);

/// Fills the caller's header from an object.
void fill_header(const Object &object, cdicom_header &header);

/// Fills in what a PET image states about activity.
void fill_pet(const Object &object, cdicom_pet &pet);

/// The frames of a multi-frame object, which the caller must pass to free(); none of any other object. Remarks on their
/// numbers are added to those of the header.
cdicom_code copy_frames(const Node &set, cdicom_header &header, cdicom_plane **frames, size_t *count,
                        cdicom_error *error);

}  // namespace cdicom

#endif
