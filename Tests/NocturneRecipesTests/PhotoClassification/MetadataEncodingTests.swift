import Foundation
import NocturneBatch
import NocturneOutput
import NocturnePhotos
import NocturneSystem
import Testing

@Suite("Encodings and separators of tables of metadata")
struct MetadataEncodingTests {
    private static let settings = BodySites(["head/neck", "unknown"])
    private static let rows = [["image", "note", "age", "sex", "site"], ["Käfer–1", "a b", "62.5", "f", "Face"]]

    private func age(_ bytes: [UInt8], of name: String = "Käfer–1.jpg") throws -> Double? {
        let table = try MetadataTable(bytes: bytes, path: "t.csv")
        let reading = try table.assign([name], sites: Self.settings)[0].get()
        #expect(reading == nil || reading?.metadata.site == "head/neck" && reading?.metadata.sex == .female)
        return reading?.metadata.age
    }

    private func text(_ separator: String, end: String = "\n") -> String {
        Self.rows.map { $0.joined(separator: separator) }.joined(separator: end) + end
    }

    private func utf16(_ text: String, isBig: Bool) -> [UInt8] {
        text.utf16.flatMap { unit in
            let bytes = [UInt8(unit & 0xFF), UInt8(unit >> 8)]
            return isBig ? bytes.reversed() : bytes
        }
    }

    @Test("Commas, semicolons and tabs; LF, CRLF and CR", arguments: [",", ";", "\t"], ["\n", "\r\n", "\r"])
    func separators(_ separator: String, _ end: String) throws {
        #expect(try age(Array(text(separator, end: end).utf8)) == 62.5)
    }

    @Test("Rows that belong to no picture are counted, and the first one is named")
    func unmatched() throws {
        let text = "image,age\na,1\nb,2\nc/d.jpg,3\n"
        let table = try MetadataTable(bytes: Array(text.utf8), path: "t.csv")
        #expect(table.rowNotes(["a.jpg", "x/b.png", "c/d.jpg"]).isEmpty)
        let note = try #require(table.rowNotes(["a.jpg"]).first)
        #expect(
            note.hasPrefix("t.csv: 2 of the 3 photos that it names are not among the inputs, such as \"b\" (row 3)")
        )
        // A table of another system.
        #expect(note.hasSuffix("with / between folders and with the same upper and lower case"))
        // A row that other rows make more specific is in use by its name.
        let visits = try MetadataTable(bytes: Array("image,age\nv1/a.jpg,1\nv2/a.jpg,2\na.jpg,3\n".utf8), path: "t.csv")
        #expect(visits.rowNotes(["v1/a.jpg", "v2/a.jpg"]).isEmpty)
    }

    @Test("UTF-8 and UTF-16 with and without what marks them", arguments: [",", ";", "\t"])
    func unicode(_ separator: String) throws {
        let text = text(separator, end: "\r\n")
        #expect(try age(Array(("\u{FEFF}" + text).utf8)) == 62.5)
        #expect(try age(utf16("\u{FEFF}" + text, isBig: false)) == 62.5)
        #expect(try age(utf16("\u{FEFF}" + text, isBig: true)) == 62.5)
        #expect(throws: BatchError.self) { try age(utf16("\u{FEFF}" + text, isBig: true) + [0]) }
        // Without a mark UTF-16 is no text that spreadsheets write; what to do is said.
        let error = #expect(throws: BatchError.self) { try age(utf16(text, isBig: false)) }
        #expect("\(try #require(error))".contains("Save the table as CSV in UTF-8"))
    }

    @Test("Bytes that are not UTF-8 are Windows-1252")
    func windows() throws {
        let bytes = text(";").unicodeScalars.map { $0 == "\u{2013}" ? 0x96 : UInt8($0.value) }
        #expect(try age(bytes) == 62.5)
        let all = (0x80...0xFF).map { UInt8($0) }
        let converted = try DelimitedText.utf8(all)
        let scalars = Array(String(decoding: converted, as: UTF8.self).unicodeScalars)
        #expect(scalars.count == 128 && scalars[0] == "€" && scalars[0x1F] == "Ÿ" && scalars[0x7F] == "ÿ")
        #expect(try DelimitedText.utf8(converted) == converted)
    }

    @Test("A pair of surrogates is one character, half a pair none")
    func surrogates() throws {
        let pair: [UInt8] = [0xFF, 0xFE, 0x3D, 0xD8, 0x00, 0xDE, 0x3D, 0xD8]
        let text = String(decoding: try DelimitedText.utf8(pair), as: UTF8.self)
        #expect(text == "\u{1F600}\u{FFFD}")
    }

    @Test("A decimal comma is read where the comma separates nothing")
    func decimalComma() throws {
        for separator in [";", "\t"] {
            #expect(try age(Array(text(separator).replacing("62.5", with: "62,5").utf8)) == 62.5)
            #expect(try age(Array(text(separator).replacing("62.5", with: "1,2,3").utf8)) == nil)
            // A thousand and 45, and the age of one month.
            #expect(try age(Array(text(separator).replacing("62.5", with: "1,045").utf8)) == nil)
            #expect(try age(Array(text(separator).replacing("62.5", with: "0,083").utf8)) == 0.083)
            #expect(try age(Array(text(separator).replacing("62.5", with: "1.062,5").utf8)) == nil)
        }
        #expect(try age(Array(text(",").replacing("62.5", with: "\"62,5\"").utf8)) == nil)
    }

    @Test("Other separators within fields and in quoted names of columns do no harm")
    func mixed() throws {
        #expect(try age(Array(text(",").replacing("a b", with: "a;b;c\td").utf8)) == 62.5)
        #expect(try age(Array(text(";").replacing("a b", with: "a,b,c").utf8)) == 62.5)
        let quoted = text(";").replacing("image;note", with: "\"image\";\"note, long\"")
        #expect(try age(Array(quoted.utf8)) == 62.5)
    }

    @Test("Any bytes end as a table or as an error")
    func hostile() {
        var state: UInt64 = 11
        func next(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % count
        }
        let starts: [[UInt8]] = [[], [0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF], [0xFF, 0xFE, 0, 0]]
        let pieces = ["image", "age", "a", "62,5", ",", ";", "\t", "\"", "\r\n", "\n", "\0", "-", "ä", "1e999"]
        var accepted = 0
        for round in 0..<3000 {
            let start = starts[round % starts.count]
            var bytes = (0..<30).flatMap { _ in Array(pieces[next(pieces.count)].utf8) }
            if round.isMultiple(of: 2) { bytes = Array(("image;age;site\na;" + "x").utf8) + bytes }
            if round.isMultiple(of: 3) { bytes[next(bytes.count)] = UInt8(next(256)) }
            let isWide = start.count == 2
            let content = isWide ? utf16(String(decoding: bytes, as: UTF8.self), isBig: start[0] == 0xFE) : bytes
            guard let table = try? MetadataTable(bytes: start + content, path: "t.csv") else { continue }
            accepted += 1
            for result in table.assign(["a.jpg", "a", ".", ""], sites: Self.settings) {
                let vector = try? result.get()?.metadata.vector(Self.settings)
                #expect(vector?.allSatisfy { $0.isFinite } != false)
            }
        }
        // Most have null characters, which are refused.
        #expect(accepted > 50)
    }

    @Test("Long values and many columns give short messages")
    func long() throws {
        let many = (0..<5000).map { "c\($0)" }.joined(separator: ",")
        let error = #expect(throws: BatchError.self) { try MetadataTable(bytes: Array(many.utf8), path: "t.csv") }
        #expect("\(try #require(error))".count < 1000)
        let value = String(repeating: "x", count: 60_000)
        let table = try MetadataTable(bytes: Array("image,sex,site\na,\(value),\(value)".utf8), path: "t.csv")
        let wide = BodySites((0..<9000).map { "site \($0)" } + ["unknown"])
        let notes = try #require(try table.assign(["a.jpg"], sites: wide)[0].get()).notes.texts
        #expect(notes.count == 2 && notes.allSatisfy { $0.count < 1000 })
    }
}
