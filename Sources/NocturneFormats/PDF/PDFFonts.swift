internal import CCairo
internal import CReportFonts
internal import Foundation

extension PDFPage {
    /// The two fonts embedded in the program, opened once for the whole process.
    ///
    /// System fonts are not used: a page has the same bytes on every machine, and text even on a machine without fonts.
    final class Fonts: @unchecked Sendable {
        // Unchecked: nothing changes after the initialiser, and cairo locks a face while it uses it.
        let regular: OpaquePointer
        let bold: OpaquePointer
        /// The characters that both fonts have.
        private let characters: Set<UInt32>

        /// nil when there is not enough memory for them.
        static let shared: Fonts? = Fonts()

        /// Cairo keeps references to fonts it has used, so neither they nor the library are ever freed.
        private init?() {
            var library: FT_Library?
            guard FT_Init_FreeType(&library) == 0, let library else { return nil }
            guard let regular = Fonts.face(library, creportfonts_regular),
                let bold = Fonts.face(library, creportfonts_bold)
            else { return nil }
            (self.regular, self.bold) = (regular.face, bold.face)
            characters = regular.characters.intersection(bold.characters)
        }

        private static func face(
            _ library: FT_Library,
            _ file: (UnsafeMutablePointer<Int>?) -> UnsafePointer<UInt8>?
        ) -> (face: OpaquePointer, characters: Set<UInt32>)? {
            var count = 0
            guard let bytes = file(&count) else { return nil }
            var opened: FT_Face?
            guard FT_New_Memory_Face(library, bytes, count, 0, &opened) == 0, let opened else { return nil }
            var characters: Set<UInt32> = []
            var glyph: FT_UInt = 0
            var character = FT_Get_First_Char(opened, &glyph)
            while glyph != 0 {
                characters.insert(UInt32(character))
                character = FT_Get_Next_Char(opened, character, &glyph)
            }
            return cairo_ft_font_face_create_for_ft_face(opened, Int32(FT_LOAD_NO_HINTING)).map { ($0, characters) }
        }

        /// A text as it can be drawn: without control characters, and with the codes of characters that the fonts lack, such as
        /// [65E5 672C]. Boxes in their place would all look the same, and would be copied as one character.
        func drawable(_ text: String) -> String {
            let scalars = text.withoutControlCharacters.precomposedStringWithCanonicalMapping.unicodeScalars
            if scalars.allSatisfy({ characters.contains($0.value) }) { return String(scalars) }
            var (result, codes) = ("", [String]())
            for scalar in scalars {
                if !characters.contains(scalar.value) {
                    codes.append(String(scalar.value, radix: 16, uppercase: true))
                    continue
                }
                if !codes.isEmpty { result += "[\(codes.joined(separator: " "))]" }
                codes = []
                result.unicodeScalars.append(scalar)
            }
            return codes.isEmpty ? result : result + "[\(codes.joined(separator: " "))]"
        }
    }
}
