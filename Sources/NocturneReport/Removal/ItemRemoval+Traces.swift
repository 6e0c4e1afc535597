import Foundation
import NocturneOutput
package import NocturneSystem

extension ItemRemoval {
    /// The texts by which items can be recognised in files about the batch: pure functions.
    package struct Traces: Sendable, Codable {
        /// Of the items' folders; they may be ordinary words.
        package let names: Set<String>
        /// Paths and fingerprints, which contain nothing else.
        package let marks: Set<String>

        /// - Parameters:
        ///   - names: of the items' folders.
        ///   - marks: paths and fingerprints.
        package init(names: [String] = [], marks: [String] = []) {
            self.names = Set(names)
            self.marks = Set(marks)
        }

        /// Those of both.
        func union(_ other: Traces) -> Traces {
            Traces(names: Array(names.union(other.names)), marks: Array(marks.union(other.marks)))
        }

        /// Whether one of the texts stands in the bytes, as a whole: not as a part of a longer name or path.
        /// - Complexity: linear for each text.
        package func occur(in bytes: [UInt8]) -> Bool {
            let data = Data(bytes)
            return marks.union(names).contains { Self.occurs($0, in: data) }
        }

        /// Whether an event is about one of the items.
        package func occur(inEvent line: [UInt8]) -> Bool {
            let data = Data(line)
            if marks.contains(where: { Self.occurs($0, in: data) }) { return true }
            guard let event = try? JSONDecoder().decode(BatchEvent.self, from: data) else {
                return occur(in: line)
            }
            // In texts about other items a name is a word like any other.
            if let item = event.item { return names.contains(item) }
            return event.reason.map { occur(in: Array($0.utf8)) } ?? false
        }

        /// - Parameter piece: whether bytes of the same file are before and after: what touches that end is found in the next piece.
        private static func occurs(
            _ text: String,
            in data: Data,
            _ piece: (hasBefore: Bool, hasAfter: Bool) = (false, false)
        ) -> Bool {
            guard !text.isEmpty else { return false }
            let pattern = Data(text.utf8)
            var start = data.startIndex
            while let found = data.range(of: pattern, in: start..<data.endIndex) {
                start = found.lowerBound + 1
                if piece.hasBefore, found.lowerBound == 0 { continue }
                if piece.hasAfter, found.upperBound > data.endIndex - 2 { continue }
                let isOpen = found.lowerBound > data.startIndex && isName(data[found.lowerBound - 1])
                let isLonger = found.upperBound < data.endIndex && isName(data[found.upperBound])
                if !isOpen, !isLonger || isEndOfSentence(data, found.upperBound) { return true }
            }
            return false
        }

        /// A point after a name ends it where nothing of a name follows.
        private static func isEndOfSentence(_ data: Data, _ place: Int) -> Bool {
            data[place] == UInt8(ascii: ".") && (place + 1 == data.endIndex || !isName(data[place + 1]))
        }

        private static func isName(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"), 128...:
                true
            default: false
            }
        }

        /// Whether they occur in a file, which is read in pieces.
        /// - Parameters:
        ///   - marksOnly: whether names do not count.
        ///   - pieceSize: in bytes.
        package func occur(inFile path: String, marksOnly: Bool, pieceSize: Int = 4 << 20) throws(FileSystemError)
            -> Bool
        {
            let file = try FileDescriptor(reading: path)
            let texts = marksOnly ? marks : marks.union(names)
            // Pieces overlap, so that each text is whole in one of them, with what stands before and after it.
            let overlap = (texts.map(\.utf8.count).max() ?? 0) + 3
            var place = 0
            while true {
                let piece = Data(try file.read(count: pieceSize + overlap, at: place))
                let isLast = piece.count < pieceSize + overlap
                if texts.contains(where: { Self.occurs($0, in: piece, (place > 0, !isLast)) }) { return true }
                if isLast { return false }
                place += pieceSize
            }
        }
    }
}
