internal import CCairo
public import NocturneCore

/// Draws lines of text into pictures, in the fonts of the PDF pages, which are embedded in the program.
///
/// To be used by one thread. It holds one line of text: `width` × 2 · `size` bytes.
public final class PictureText {
    private let surface: OpaquePointer?
    private let context: OpaquePointer?
    private let width: Int
    private let height: Int
    private let size: Double

    /// - Parameters:
    ///   - width: the longest line in pixels; the rest is cut off. At most 4096.
    ///   - size: of the font in pixels.
    public init(width: Int, size: Double) {
        precondition((1...4096).contains(width) && (1...200).contains(size), "text of a usual size")
        self.width = width
        self.size = size
        height = Int(2 * size)
        surface = cairo_image_surface_create(CAIRO_FORMAT_A8, Int32(width), Int32(height))
        context = cairo_create(surface)
        let options = cairo_font_options_create()
        cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
        cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE)
        cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY)
        cairo_set_font_options(context, options)
        cairo_font_options_destroy(options)
    }

    deinit {
        cairo_destroy(context)
        cairo_surface_destroy(surface)
    }

    /// Draws one line whose baseline is at row `y` and that begins at column `x`. Control characters become spaces,
    /// characters that the fonts lack boxes; pixels outside the image are left out.
    public func draw(
        _ text: String,
        in image: inout RGBImage,
        x: Int,
        y: Int,
        isBold: Bool = false,
        color: SIMD3<UInt8> = SIMD3(repeating: 230)
    ) {
        guard let coverage = coverage(of: text, isBold: isBold) else { return }
        for row in 0..<height {
            let target = y - baseline + row
            guard (0..<image.height).contains(target) else { continue }
            for column in 0..<width where (0..<image.width).contains(x + column) {
                let share = Int(coverage[row * width + column])
                guard share > 0 else { continue }
                let below = image[x + column, target]
                var mixed = below
                for channel in 0..<3 {
                    // Rounded to the nearest: 127 is half of 255.
                    mixed[channel] = UInt8(
                        (Int(below[channel]) * (255 - share) + Int(color[channel]) * share + 127) / 255
                    )
                }
                image[x + column, target] = mixed
            }
        }
    }

    private var baseline: Int { height * 3 / 4 }

    /// How much of every pixel the text covers, row by row; nil without memory.
    private func coverage(of text: String, isBold: Bool) -> [UInt8]? {
        guard let fonts = PDFPage.Fonts.shared else { return nil }
        cairo_set_operator(context, CAIRO_OPERATOR_CLEAR)
        cairo_paint(context)
        cairo_set_operator(context, CAIRO_OPERATOR_OVER)
        cairo_set_font_face(context, isBold ? fonts.bold : fonts.regular)
        cairo_set_font_size(context, size)
        cairo_move_to(context, 0, Double(baseline))
        cairo_show_text(context, text.prefix(1_000).withoutControlCharacters)
        cairo_surface_flush(surface)
        guard cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS, let bytes = cairo_image_surface_get_data(surface)
        else { return nil }
        let stride = Int(cairo_image_surface_get_stride(surface))
        return (0..<height).flatMap { row in (0..<width).map { bytes[row * stride + $0] } }
    }
}

extension StringProtocol {
    /// The text in one line: characters that cannot be part of one become spaces. File names may contain anything.
    var withoutControlCharacters: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.value < 32 || $0.value == 127 ? " " : $0 }))
    }
}
