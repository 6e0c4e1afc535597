extension PDFPage {
    /// What cairo cannot write into a tagged PDF: the language, the alternative texts of figures, and that readers show the
    /// document's title instead of the file's name.
    ///
    /// They are added as an incremental update (ISO 32000-1, 7.5.6): changed objects and a second cross-reference table after
    /// the end of the file.
    struct Accessibility {
        /// As in `en`.
        let language: String
        /// Of all figures, in the order in which they were drawn.
        let alternatives: [String]

        /// The bytes to append.
        /// - Parameters:
        ///   - tail: the end of the file, from before the structure elements on.
        ///   - start: the position of its first byte in the file.
        /// - Returns: nil if the end is not as cairo writes it.
        func update(of tail: [UInt8], startingAt start: Int) -> [UInt8]? {
            let ending = Ending(tail)
            guard let trailer = ending.trailer, let catalog = ending.catalog else { return nil }
            let figures = ending.figures
            guard figures.count == alternatives.count else { return nil }
            var objects = [
                Ending.Object(
                    number: catalog.number,
                    entries: catalog.entries
                        + "   /Lang \(hexText(language))\n   /ViewerPreferences << /DisplayDocTitle true >>\n"
                )
            ]
            for (figure, alternative) in zip(figures, alternatives) {
                objects.append(
                    Ending.Object(number: figure.number, entries: figure.entries + "   /Alt \(hexText(alternative))\n")
                )
            }
            var bytes: [UInt8] = []
            var places: [(number: Int, offset: Int)] = []
            for object in objects {
                places.append((object.number, start + tail.count + bytes.count))
                bytes += Array("\(object.number) 0 obj\n<< \(object.entries)>>\nendobj\n".utf8)
            }
            let table = start + tail.count + bytes.count
            // Some readers expect every table to begin with the entry of number 0.
            var text = "xref\n0 1\n0000000000 65535 f \n"
            for place in places.sorted(by: { $0.number < $1.number }) {
                let digits = String(place.offset)
                guard digits.count <= 10 else { return nil }
                text +=
                    "\(place.number) 1\n" + String(repeating: "0", count: 10 - digits.count) + "\(digits) 00000 n \n"
            }
            text += "trailer\n<< \(trailer.entries)   /Prev \(trailer.table)\n>>\nstartxref\n\(table)\n%%EOF\n"
            return bytes + Array(text.utf8)
        }

        /// A text string in UTF-16.
        private func hexText(_ text: String) -> String {
            let digits = Array("0123456789ABCDEF")
            var hex = "<FEFF"
            for unit in text.utf16 {
                for shift in [12, 8, 4, 0] { hex.append(digits[Int(unit >> UInt16(shift)) & 15]) }
            }
            return hex + ">"
        }
    }
}

extension PDFPage.Accessibility {
    /// The objects at the end of a file of cairo.
    struct Ending {
        struct Object {
            let number: Int
            /// Of its dictionary, with a line break at the end.
            let entries: String
        }

        struct Trailer {
            let entries: String
            /// The position of the cross-reference table.
            let table: Int
        }

        /// The lines of the end, from the first structure element on.
        private let lines: [Substring]
        private let objects: [Object]

        init(_ tail: [UInt8]) {
            let mark = Array("/Type /StructElem".utf8)
            let first = tail.firstRange(of: mark)?.lowerBound ?? tail.endIndex
            // The number of the object stands in the line before.
            let begin = tail[..<first].dropLast(24).endIndex
            let text = String(decoding: tail[begin...].map { $0 < 128 ? $0 : 63 }, as: UTF8.self)
            lines = text.split(separator: "\n")
            objects = Self.objects(in: lines)
        }

        var catalog: Object? { objects.last { $0.entries.contains("/Type /Catalog") } }

        /// In the order in which they were drawn.
        var figures: [Object] {
            objects.filter { $0.entries.contains("/Type /StructElem") && $0.entries.contains("/S /Figure\n") }
        }

        var trailer: Trailer? {
            guard let index = lines.lastIndex(of: "trailer"), let end = lines[index...].firstIndex(of: ">>"),
                lines.count > 2, lines.last == "%%EOF", lines[lines.count - 3] == "startxref",
                let table = Int(lines[lines.count - 2])
            else { return nil }
            return Trailer(entries: Self.entries(lines[(index + 1)..<end]), table: table)
        }

        private static func objects(in lines: [Substring]) -> [Object] {
            var found: [Object] = []
            for (index, line) in lines.enumerated() where line.hasSuffix(" 0 obj") {
                guard let number = Int(line.dropLast(6)), let end = lines[index...].firstIndex(of: ">>") else {
                    continue
                }
                found.append(Object(number: number, entries: entries(lines[(index + 1)..<end])))
            }
            return found
        }

        private static func entries(_ lines: ArraySlice<Substring>) -> String {
            lines.enumerated().map { ($0 == 0 && $1.hasPrefix("<< ") ? String($1.dropFirst(3)) : String($1)) + "\n" }
                .joined()
        }
    }
}
