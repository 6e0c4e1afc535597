import Foundation

/// The texts by which an item can be recognised in files about the batch: pure functions.
struct ItemTraces: Sendable {
    /// In no order, none empty.
    let texts: [[UInt8]]

    init(_ texts: [String]) { self.texts = Set(texts).filter { !$0.isEmpty }.map { Array($0.utf8) } }

    /// Whether one of the texts stands in the bytes as a whole: not as a part of a longer name or path.
    /// - Complexity: linear for each text.
    func occur(in bytes: [UInt8]) -> Bool { texts.contains { Self.occurs($0, in: bytes) } }

    private static func occurs(_ text: [UInt8], in bytes: [UInt8]) -> Bool {
        let (data, pattern) = (Data(bytes), Data(text))
        var start = data.startIndex
        while let found = data.range(of: pattern, in: start..<data.endIndex) {
            let isOpen = found.lowerBound > data.startIndex && isName(data[found.lowerBound - 1])
            let isLonger = found.upperBound < data.endIndex && isName(data[found.upperBound])
            if !isOpen, !isLonger || isEndOfSentence(data, found.upperBound) { return true }
            start = found.lowerBound + 1
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

    /// A text without the lines in which an item occurs.
    func linesRemoved(from bytes: [UInt8]) -> [UInt8] {
        bytes.split(separator: 10, omittingEmptySubsequences: false).filter { !occur(in: Array($0)) }
            .joined(separator: [10]).map(\.self)
    }
}
