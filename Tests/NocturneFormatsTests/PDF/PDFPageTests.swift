import Foundation
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Pages of PDF")
struct PDFPageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func empty() throws -> PDFPage { try PDFPage(title: "", writingTo: folder("empty.pdf").path) }

    private func draw(to path: String) throws -> PDFPage {
        let page = try PDFPage(title: "A title", writingTo: path)
        page.text("Grüße – “quoted” ≥ 5 µm", x: 20, y: 40, size: 12)
        page.text("bold", x: 20, y: 60, size: 12, isBold: true)
        page.fill(PDFPage.Rectangle(x: 10, y: 80, width: 50, height: 20), PDFPage.Color(gray: 0.5))
        page.outline(PDFPage.Rectangle(x: 10, y: 80, width: 50, height: 20), PDFPage.Color(gray: 0))
        page.fill(polygon: [SIMD2(0, 0), SIMD2(10, 0), SIMD2(0, 10)], PDFPage.Color(red: 1, green: 0, blue: 0))
        page.fillCircle(center: SIMD2(100, 100), radius: 5, PDFPage.Color(gray: 0.2))
        var image = RGBImage(width: 3, height: 2)
        image[1, 1] = SIMD3(255, 128, 1)
        try page.image(image, in: PDFPage.Rectangle(x: 200, y: 200, width: 90, height: 60))
        return page
    }

    @Test("A file of many pages is written page by page")
    func pages() throws {
        try TemporaryFolder.with { place in
            let path = place("many.pdf").path
            let page = try PDFPage(title: "Many", writingTo: path)
            for number in 1...3 {
                if number > 1 { try page.nextPage() }
                page.text("page \(number)", x: 20, y: 40, size: 12)
                let place = PDFPage.Rectangle(x: 20, y: 60, width: 90, height: 90)
                try page.image(RGBImage(width: 50, height: 50), in: place)
                if number == 3 { #expect((FileSystem.size(path) ?? 0) > 500) }
            }
            try page.finish()
            let text = String(decoding: try FileSystem.read(path), as: UTF8.self)
            #expect(text.hasPrefix("%PDF-1.") && text.contains("/Count 3") && text.hasSuffix("%%EOF\n"))
            #expect(throws: PDFError.self) { try PDFPage(title: "", writingTo: place("none/x.pdf").path) }
        }
    }

    @Test("The structure names language, reading order and the texts in place of figures, over several pages")
    func structure() throws {
        try TemporaryFolder.with { place in
            let path = place("tagged.pdf").path
            let page = try PDFPage(title: "Tagged", writingTo: path)
            for number in 1...2 {
                if number > 1 { try page.nextPage() }
                page.element(.heading(level: 2)) { page.text("Heading \(number)", x: 20, y: 40, size: 12) }
                try page.element(.section) {
                    try page.element(.figure(alternative: "Größe \(number)")) {
                        try page.image(
                            RGBImage(width: 5, height: 5),
                            in: PDFPage.Rectangle(x: 20, y: 60, width: 9, height: 9)
                        )
                    }
                    page.element(.list) {
                        for item in ["one", "two"] {
                            page.element(.listItem) { page.text(item, x: 20, y: 90, size: 12) }
                        }
                    }
                }
            }
            try page.finish()
            let bytes = try FileSystem.read(path)
            let text = String(decoding: bytes.map { $0 < 128 ? $0 : 63 }, as: UTF8.self)
            #expect(PDFPage.fault(at: path) == nil)
            // The file ends with an update; its table must point at the changed objects.
            let update = try #require(text.components(separatedBy: "%%EOF\n").dropFirst().first)
            #expect(update.contains("/Lang <FEFF0065006E>") && update.contains("/DisplayDocTitle true"))
            #expect(update.contains("/Alt <FEFF0047007200F600DF006500200031>"))
            #expect(update.contains("/Alt <FEFF0047007200F600DF006500200032>"))
            let table = update.components(separatedBy: "xref\n")[1].components(separatedBy: "trailer")[0]
            let lines = table.split(separator: "\n").map(String.init)
            #expect(lines.count == 8 && lines[..<2] == ["0 1", "0000000000 65535 f "])
            for pair in stride(from: 2, to: lines.count, by: 2) {
                let number = try #require(lines[pair].split(separator: " ").first)
                let offset = try #require(Int(lines[pair + 1].prefix(10)))
                #expect(String(decoding: bytes[offset...].prefix(24), as: UTF8.self).hasPrefix("\(number) 0 obj\n"))
            }
            let kinds = text.components(separatedBy: "%%EOF")[0].components(separatedBy: "/Type /StructElem\n   /S /")
                .dropFirst()
                .map { String($0.prefix { $0 != "\n" }) }
            let part = ["H2", "Sect", "Figure", "L", "LI", "LI"]
            #expect(kinds == ["Document"] + part + part)
        }
    }

    @Test("Two runs give the same bytes, with fonts of their own and no time of day")
    func same() throws {
        try TemporaryFolder.with { place in
            var files: [Data] = []
            for name in ["a.pdf", "b.pdf"] {
                try draw(to: place(name).path).finish()
                files.append(try Data(contentsOf: place(name)))
            }
            #expect(files[0] == files[1])
            let text = String(decoding: files[0], as: UTF8.self)
            #expect(text.hasPrefix("%PDF-1."))
            #expect(text.contains("20000101000000Z") && text.contains("A title"))
            #expect(text.contains("NocturneSans-Regular") || text.contains("NocturneSans"))
            #expect(text.contains("/FontFile"))
            // Images are stored as JPEG.
            #expect(text.contains("/DCTDecode"))
        }
    }

    @Test("Every letter of the report's words has a width of its own")
    func widths() throws {
        let page = try empty()
        let missing = page.width(of: "\u{4E2D}", size: 10)
        for letter in "abcdefgABCXYZ0123456789äöüßéñłőŞ≥≤–—“”×µ±" {
            let width = page.width(of: String(letter), size: 10)
            #expect(width > 1 && width < 14)
        }
        #expect(page.width(of: "iiii", size: 10) < page.width(of: "mmmm", size: 10))
        #expect(page.width(of: "mm", size: 10) * 2 == page.width(of: "mm", size: 20))
        #expect(missing > 0)
    }

    @Test("Characters that the fonts lack are written as their codes")
    func missing() throws {
        let page = try empty()
        page.text("Åse e\u{301} \u{65E5}\u{672C}.jpg \u{5E9}", x: 0, y: 10, size: 9)
        #expect(page.texts == ["Åse é [65E5 672C].jpg [5E9]"])
        #expect(page.shortened("\u{65E5}", width: 100, size: 9) == "[65E5]")
    }

    @Test("Lines are no wider than asked for and lose no word; long words are broken")
    func lines() throws {
        let page = try empty()
        let text = "The quick brown fox jumps over the lazy dog " + String(repeating: "w", count: 80)
        let lines = page.lines(of: text, width: 100, size: 9)
        for line in lines { #expect(page.width(of: line, size: 9) <= 100) }
        #expect(lines.joined().replacing(" ", with: "") == text.replacing(" ", with: ""))
        #expect(page.lines(of: "", width: 100, size: 9).isEmpty)
    }

    @Test("Shortened text fits, keeps both ends, and is left alone where it fits")
    func shortened() throws {
        let page = try empty()
        #expect(page.shortened("short", width: 100, size: 9) == "short")
        let long = "beginning" + String(repeating: "x", count: 5000) + "end"
        let result = page.shortened(long, width: 100, size: 9)
        #expect(page.width(of: result, size: 9) <= 100 && result.hasPrefix("beg") && result.contains("…"))
        #expect(page.shortened("a\nb\u{0}c", width: 100, size: 9) == "a b c")
    }

    @Test("A path that cannot be written is an error with the system's number")
    func unwritable() throws {
        let error = #expect(throws: PDFError.self) { try draw(to: "/nowhere/at/all.pdf") }
        #expect(error?.code == .cannotWrite && error?.systemCode == ENOENT)
    }
}
