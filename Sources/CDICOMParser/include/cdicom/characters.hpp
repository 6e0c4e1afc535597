#ifndef CDICOM_CHARACTERS_HPP
#define CDICOM_CHARACTERS_HPP

#include <string>

namespace cdicom {

/// The character sets that SpecificCharacterSet (0008,0005) states (PS3.3 C.12.1.1.2), to convert texts to UTF-8.
///
/// The conversions are those of the C library's iconv. DCMTK's converter would use the same tables, but it is not in this module, and
/// refuses a text with one illegal byte.
class CharacterSets {
  public:
    /// @param stated the value of SpecificCharacterSet, empty when missing. Common misspellings ("ISO_IR_100", "UTF-8")
    ///               are understood.
    explicit CharacterSets(const std::string &stated);

    /// The text in UTF-8.
    ///
    /// Without a stated set, and for Latin-1, a text that is valid UTF-8 is taken for it: many programs write it so. Bytes that the
    /// set does not have become U+FFFD.
    /// @param is_name whether ^ and = end the components of a name (PN), and with them the sets that escape
    ///                sequences select.
    std::string utf8(const std::string &bytes, bool is_name) const;

  private:
    std::string with_escapes(const std::string &bytes, bool is_name) const;

    /// iconv's name of the first set; empty for ASCII, Latin-1 and what is not stated.
    std::string first_;
};

}  // namespace cdicom

#endif
