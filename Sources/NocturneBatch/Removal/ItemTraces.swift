import Foundation

/// The texts by which items can be recognised in files about the batch: pure functions.
struct ItemTraces: Sendable {
    /// Of the items' folders; they may be ordinary words.
    let names: Set<String>
    /// Paths and fingerprints, which say nothing else.
    let marks: Set<String>

    init(names: [String] = [], marks: [String] = []) {
        self.names = Set(names)
        self.marks = Set(marks)
    }

    /// Whether a path or fingerprint stands in the bytes, as a whole: not as a part of a longer name or path.
    /// - Complexity: linear for each text.
    func areMarked(in bytes: [UInt8]) -> Bool { marks.contains { Self.occurs($0, in: bytes) } }

    /// The same for names too.
    func occur(in bytes: [UInt8]) -> Bool { areMarked(in: bytes) || names.contains { Self.occurs($0, in: bytes) } }

    /// Whether an event is about one of the items.
    func occur(inEvent line: [UInt8]) -> Bool {
        if areMarked(in: line) { return true }
        guard let event = try? JSONDecoder().decode(BatchEvent.self, from: Data(line)) else { return occur(in: line) }
        // In what is said of other items a name is a word like any other.
        if let item = event.item { return names.contains(item) }
        return event.reason.map { occur(in: Array($0.utf8)) } ?? false
    }

    private static func occurs(_ text: String, in bytes: [UInt8]) -> Bool {
        guard !text.isEmpty else { return false }
        let (data, pattern) = (Data(bytes), Data(text.utf8))
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

    /// A text without some of its lines.
    static func removingLines(from bytes: [UInt8], where isRemoved: ([UInt8]) -> Bool) -> [UInt8] {
        Array(
            bytes.split(separator: 10, omittingEmptySubsequences: false).filter { !isRemoved(Array($0)) }
                .joined(separator: [10])
        )
    }
}
