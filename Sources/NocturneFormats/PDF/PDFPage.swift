internal import CCairo
public import NocturneCore
public import NocturneSystem

/// A PDF file of one or more pages, drawn with cairo: text in two embedded fonts, areas, lines and images.
///
/// The file is tagged for screen readers: what is drawn in ``element(_:_:)`` is read in the order of drawing, anything else
/// counts as decoration. The language is English.
///
/// Lengths are points from the upper left corner. The bytes depend only on what was drawn: no time stamp and no system
/// fonts. To be used by one thread. The current page is held in memory; it is written when it ends.
public final class PDFPage {
    /// In points.
    public let width: Double
    /// In points.
    public let height: Double
    /// All lines of text that were drawn, in order, for code that needs the text of a page.
    public private(set) var texts: [String] = []
    private let surface: OpaquePointer?
    private let context: OpaquePointer?
    private let output: Output
    /// The texts in place of the figures, in the order of drawing.
    private var alternatives: [String] = []

    /// Creates the file, replacing an existing one, with an empty page, A4 by default. It is not flushed to the disk.
    /// - Parameter title: of the document, as PDF readers show it.
    /// - Throws: ``PDFError``.
    public init(
        width: Double = 595,
        height: Double = 842,
        title: String,
        writingTo path: String
    ) throws(PDFError) {
        let output: Output
        do { output = try Output(path: path) } catch { throw PDFError(.cannotWrite, writing: error) }
        self.width = width
        self.height = height
        self.output = output
        surface = cairo_pdf_surface_create_for_stream(
            { closure, data, count in
                guard let closure, let data else { return CAIRO_STATUS_SUCCESS }
                Unmanaged<Output>.fromOpaque(closure).takeUnretainedValue()
                    .bytes.append(contentsOf: UnsafeBufferPointer(start: data, count: Int(count)))
                return CAIRO_STATUS_SUCCESS
            },
            Unmanaged.passUnretained(output).toOpaque(),
            width,
            height
        )
        // Later versions may have other cross-reference tables.
        cairo_pdf_surface_restrict_to_version(surface, CAIRO_PDF_VERSION_1_4)
        // Without a date cairo uses the current one.
        cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z")
        cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, title.withoutControlCharacters)
        context = cairo_create(surface)
        let options = cairo_font_options_create()
        cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
        cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE)
        cairo_set_font_options(context, options)
        cairo_font_options_destroy(options)
        cairo_tag_begin(context, PDFPage.documentType, nil)
    }

    deinit {
        cairo_destroy(context)
        cairo_surface_finish(surface)
        cairo_surface_destroy(surface)
    }

    // MARK: Structure

    private static let documentType = "Document"

    /// Draws a part of the document's structure. Parts may contain others, and end on the page on which they begin.
    public func element<Result>(_ element: Element, _ draw: () throws -> Result) rethrows -> Result {
        if case .figure(let alternative) = element { alternatives.append(alternative.withoutControlCharacters) }
        cairo_tag_begin(context, element.structureType, nil)
        defer { cairo_tag_end(context, element.structureType) }
        return try draw()
    }

    // MARK: Text

    /// Writes one line with its baseline at `y`. In place of characters that the fonts lack their codes are written.
    public func text(
        _ text: String,
        x: Double,
        y: Double,
        size: Double,
        isBold: Bool = false,
        color: Color = Color(gray: 0.1)
    ) {
        set(size: size, isBold: isBold)
        set(color)
        cairo_move_to(context, x, y)
        let line = drawable(text)
        texts.append(line)
        // The space keeps the last word of a line and the first of the next apart when they are read aloud.
        cairo_show_text(context, line + " ")
    }

    /// The width of a line of text.
    public func width(of text: String, size: Double) -> Double {
        set(size: size, isBold: false)
        return width(drawable(text))
    }

    /// The width of a text that can be drawn, in the font that is set.
    private func width(_ drawable: String) -> Double {
        var extents = cairo_text_extents_t()
        cairo_text_extents(context, drawable, &extents)
        return extents.x_advance
    }

    /// The text in lines no wider than `width`; longer single words are broken.
    public func lines(of text: String, width limit: Double, size: Double, isBold: Bool = false) -> [String] {
        set(size: size, isBold: isBold)
        func fits(_ line: String) -> Bool { width(line) <= limit }
        var lines: [String] = []
        var line = ""
        for word in drawable(text).split(separator: " ").map(String.init) {
            let longer = line.isEmpty ? word : line + " " + word
            if fits(longer) {
                line = longer
                continue
            }
            if !line.isEmpty { lines.append(line) }
            // The word alone does not fit in the rest of a line: a new one begins, in which a longer word is divided.
            line = ""
            for character in word {
                if !line.isEmpty, !fits(line + String(character)) {
                    lines.append(line)
                    line = ""
                }
                line.append(character)
            }
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }

    /// The text in one line no wider than `width`; if necessary, its middle is left out.
    public func shortened(_ text: String, width limit: Double, size: Double, isBold: Bool = false) -> String {
        set(size: size, isBold: isBold)
        let characters = Array(drawable(String(text.prefix(2_000))))
        func candidate(_ kept: Int) -> String {
            kept >= characters.count
                ? String(characters)
                : String(characters.prefix((kept + 1) / 2)) + "…" + String(characters.suffix(kept / 2))
        }
        var (low, high) = (0, characters.count)
        while low < high {
            let middle = (low + high + 1) / 2
            if width(candidate(middle)) <= limit {
                low = middle
            } else {
                high = middle - 1
            }
        }
        return candidate(low)
    }

    private func drawable(_ text: String) -> String {
        Fonts.shared?.drawable(text) ?? text.withoutControlCharacters
    }

    private func set(size: Double, isBold: Bool) {
        guard let fonts = Fonts.shared else { return }
        cairo_set_font_face(context, isBold ? fonts.bold : fonts.regular)
        cairo_set_font_size(context, size)
    }

    // MARK: Areas, lines, images

    /// Fills a rectangle.
    public func fill(_ rectangle: Rectangle, _ color: Color) {
        set(color)
        cairo_rectangle(context, rectangle.x, rectangle.y, rectangle.width, rectangle.height)
        cairo_fill(context)
    }

    /// Draws the border of a rectangle, half of the line width on either side.
    public func outline(_ rectangle: Rectangle, _ color: Color, lineWidth: Double = 0.7) {
        set(color)
        cairo_set_line_width(context, lineWidth)
        cairo_rectangle(context, rectangle.x, rectangle.y, rectangle.width, rectangle.height)
        cairo_stroke(context)
    }

    /// Draws a thin straight line.
    public func line(from start: SIMD2<Double>, to end: SIMD2<Double>, _ color: Color) {
        set(color)
        cairo_set_line_width(context, 0.7)
        cairo_move_to(context, start.x, start.y)
        cairo_line_to(context, end.x, end.y)
        cairo_stroke(context)
    }

    /// Fills the polygon with these corners.
    public func fill(polygon corners: [SIMD2<Double>], _ color: Color) {
        guard let first = corners.first else { return }
        set(color)
        cairo_move_to(context, first.x, first.y)
        for corner in corners.dropFirst() { cairo_line_to(context, corner.x, corner.y) }
        cairo_close_path(context)
        cairo_fill(context)
    }

    /// Fills a circle; `radius` in points.
    public func fillCircle(center: SIMD2<Double>, radius: Double, _ color: Color) {
        set(color)
        cairo_arc(context, center.x, center.y, radius, 0, 2 * Double.pi)
        cairo_fill(context)
    }

    /// Of the images, as libjpeg counts it.
    private static let imageQuality = 85

    /// Draws an image into a rectangle, stretched to fill it. It is stored as JPEG: a photo takes a tenth of what it takes
    /// without loss, and pages are for the eye.
    /// - Throws: ``PictureError``.
    public func image(_ image: RGBImage, in rectangle: Rectangle) throws(PictureError) {
        guard image.width > 0, image.height > 0 else { return }
        let bytes = try JPEGWriter.encode(image, quality: Self.imageQuality, for: output.path)
        // Cairo writes the file that is attached, and reads no pixel.
        let picture = cairo_image_surface_create(CAIRO_FORMAT_RGB24, Int32(image.width), Int32(image.height))
        defer { cairo_surface_destroy(picture) }
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
        copy.initialize(from: bytes, count: bytes.count)
        let release: cairo_destroy_func_t = { $0?.deallocate() }
        let status = cairo_surface_set_mime_data(picture, "image/jpeg", copy, UInt(bytes.count), release, copy)
        guard status == CAIRO_STATUS_SUCCESS else {
            copy.deallocate()
            throw PictureError(.outOfMemory, path: output.path, "no memory to draw the picture")
        }
        cairo_save(context)
        cairo_translate(context, rectangle.x, rectangle.y)
        cairo_scale(context, rectangle.width / Double(image.width), rectangle.height / Double(image.height))
        cairo_set_source_surface(context, picture, 0, 0)
        cairo_rectangle(context, 0, 0, Double(image.width), Double(image.height))
        cairo_fill(context)
        cairo_restore(context)
    }

    private func set(_ color: Color) { cairo_set_source_rgb(context, color.red, color.green, color.blue) }

    // MARK: Writing

    /// Ends the page and begins another one.
    /// - Throws: ``PDFError``.
    public func nextPage() throws(PDFError) {
        cairo_show_page(context)
        do { try output.flush() } catch { throw PDFError(.cannotWrite, writing: error) }
    }

    /// Ends the last page and the file. Nothing can be drawn afterwards.
    /// - Throws: ``PDFError``.
    public func finish() throws(PDFError) {
        let path = output.path
        guard Fonts.shared != nil else { throw PDFError(.cannotDraw, path: path, "no memory for the fonts") }
        cairo_tag_end(context, PDFPage.documentType)
        cairo_show_page(context)
        var status = cairo_status(context)
        cairo_surface_finish(surface)
        if status == CAIRO_STATUS_SUCCESS { status = cairo_surface_status(surface) }
        guard status == CAIRO_STATUS_SUCCESS else {
            throw PDFError(.cannotDraw, path: path, String(cString: cairo_status_to_string(status)))
        }
        let accessibility = Accessibility(language: "en", alternatives: alternatives)
        guard let update = accessibility.update(of: output.bytes, startingAt: output.flushedByteCount) else {
            throw PDFError(.cannotDraw, path: path, "the structure of the document is not as expected")
        }
        output.bytes += update
        do {
            try output.flush()
            try output.file.close()
        } catch {
            throw PDFError(.cannotWrite, writing: error)
        }
    }
}
