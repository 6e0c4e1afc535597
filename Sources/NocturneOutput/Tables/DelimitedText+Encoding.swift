/// The encodings in which spreadsheets write tables.
extension DelimitedText {
    /// The text of a table in UTF-8, without a byte-order mark and Excel's first line `sep=;`. A half of a surrogate pair becomes
    /// U+FFFD.
    ///
    /// A byte-order mark states the encoding. Without one the text is UTF-8, or Windows-1252 where the bytes are not valid
    /// UTF-8: this is what spreadsheets write in Western Europe, and any bytes are valid in it.
    /// - Throws: ``Fault`` for the workbook of a spreadsheet program, for null characters, and for UTF-16 that ends within a code unit.
    package static func utf8(_ bytes: [UInt8]) throws(Fault) -> [UInt8] {
        // What .xlsx and .ods begin with, and .xls.
        if bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) || bytes.starts(with: [0xD0, 0xCF, 0x11, 0xE0]) {
            throw Fault(detail: "is a spreadsheet (Excel or similar), not CSV. Save it as CSV in UTF-8")
        }
        guard let text = decoded(bytes) else {
            throw Fault(
                detail: "is text in UTF-16 that ends in the middle of a character. Save it again, as CSV in UTF-8"
            )
        }
        guard !text.contains(0) else {
            throw Fault(
                detail: "has null characters, as UTF-16 without a byte-order mark. Save the table as CSV in UTF-8"
            )
        }
        // The line end remains, and with it the numbers of the lines.
        return text.starts(with: "sep=".utf8) ? Array(text.drop { $0 != 0x0A && $0 != 0x0D }) : text
    }

    private static func decoded(_ bytes: [UInt8]) -> [UInt8]? {
        if bytes.starts(with: [0xFF, 0xFE]) { return fromUTF16(bytes, low: 0, high: 1) }
        if bytes.starts(with: [0xFE, 0xFF]) { return fromUTF16(bytes, low: 1, high: 0) }
        guard isUTF8(bytes) else { return fromWindows1252(bytes) }
        return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        !transcode(bytes.makeIterator(), from: UTF8.self, to: UTF32.self, stoppingOnError: true) { _ in }
    }

    /// - Parameters:
    ///   - low: the place of the lower byte in a unit.
    ///   - high: that of the upper one.
    private static func fromUTF16(_ bytes: [UInt8], low: Int, high: Int) -> [UInt8]? {
        guard bytes.count.isMultiple(of: 2) else { return nil }
        let units = stride(from: 2, to: bytes.count, by: 2).lazy.map {
            UInt16(bytes[$0 + low]) | UInt16(bytes[$0 + high]) << 8
        }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / 2)
        _ = transcode(units.makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: false) { text.append($0) }
        return text
    }

    /// Any bytes are valid.
    private static func fromWindows1252(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + bytes.count / 8)
        for byte in bytes {
            if byte < 0x80 {
                text.append(byte)
            } else {
                let point = byte < 0xA0 ? high[Int(byte) - 0x80] : UInt16(byte)
                text += UTF8.encode(Unicode.Scalar(point) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter
            }
        }
        return text
    }

    /// The characters of 0x80 to 0x9F. The five bytes that stand for none are taken as control characters, as
    /// browsers do.
    private static let high: [UInt16] = [
        0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,
        0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
        0x0153, 0x9D, 0x017E, 0x0178,
    ]
}
