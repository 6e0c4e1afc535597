internal import CCairo
internal import CReportFonts

extension PDFPage {
    /// The two fonts embedded in the program, opened once for the whole process.
    ///
    /// System fonts are not used: a page has the same bytes on every machine, and text even on a machine without fonts.
    final class Fonts: @unchecked Sendable {
        // Unchecked: nothing changes after the initialiser, and cairo locks a face while it uses it.
        let regular: OpaquePointer
        let bold: OpaquePointer

        /// nil when there is not enough memory for them.
        static let shared: Fonts? = Fonts()

        /// Cairo keeps references to fonts it has used, so neither they nor the library are ever freed.
        private init?() {
            var library: FT_Library?
            guard FT_Init_FreeType(&library) == 0, let library else { return nil }
            guard let regular = Fonts.face(library, creportfonts_regular),
                let bold = Fonts.face(library, creportfonts_bold)
            else { return nil }
            self.regular = regular
            self.bold = bold
        }

        private static func face(
            _ library: FT_Library,
            _ file: (UnsafeMutablePointer<Int>?) -> UnsafePointer<UInt8>?
        ) -> OpaquePointer? {
            var count = 0
            guard let bytes = file(&count) else { return nil }
            var face: FT_Face?
            guard FT_New_Memory_Face(library, bytes, count, 0, &face) == 0, let face else { return nil }
            return cairo_ft_font_face_create_for_ft_face(face, Int32(FT_LOAD_NO_HINTING))
        }
    }
}
