internal import Foundation

/// The words of paths and sentences: runs of letters and digits, without case and diacritics.
public enum PathWords {
    /// A word, and where it is in the text.
    struct Word {
        let range: Range<String.Index>
        /// As it is compared.
        let text: String
    }

    /// How many words, joined by one character each, may form a longer one, such as a date.
    static let mostJoined = 8

    /// Letters and digits alone, in lower case and without diacritics.
    public static func folded(_ text: some StringProtocol) -> String {
        if isASCII(text) { return String(decoding: text.utf8.lazy.filter(isPlain).map(lowered), as: UTF8.self) }
        let plain = String(text).lowercased().folding(options: .diacriticInsensitive, locale: nil)
        var result = ""
        for character in plain where character.isLetter || character.isNumber {
            // Separate letters, which have no decomposition.
            result += letters[character] ?? String(character)
        }
        return result
    }

    private static func isASCII(_ text: some StringProtocol) -> Bool { text.utf8.allSatisfy { $0 < 128 } }

    /// Whether a byte of ASCII is a letter or a digit.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowered(byte))
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// A letter of ASCII in lower case; other bytes may change.
    private static func lowered(_ byte: UInt8) -> UInt8 { byte < 64 ? byte : byte | 32 }

    private static let letters: [Character: String] = [
        "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i",
    ]

    /// The words of a text, in order.
    static func words(of text: String) -> [Word] {
        var words: [Word] = []
        var start: String.Index?
        var index = text.startIndex
        // Most paths are ASCII, and a cohort has millions: their characters are bytes.
        let isASCII = isASCII(text)
        func add(_ start: String.Index, _ end: String.Index) {
            words.append(Word(range: start..<end, text: folded(text[start..<end])))
        }
        while index < text.endIndex {
            if isASCII ? isPlain(text.utf8[index]) : text[index].isLetter || text[index].isNumber {
                start = start ?? index
            } else if let begin = start {
                add(begin, index)
                start = nil
            }
            index = isASCII ? text.utf8.index(after: index) : text.index(after: index)
        }
        if let start { add(start, text.endIndex) }
        return words
    }

    /// Whether one character that ends no path component is between the words.
    static func joins(_ text: String, _ first: Word, _ second: Word) -> Bool {
        text.index(after: first.range.upperBound) == second.range.lowerBound
            && !"/\n".contains(text[first.range.upperBound])
    }

    /// The text with these words replaced, also those that are parts of it joined by one character each, as in a date.
    /// - Parameters:
    ///   - sought: the words, as ``folded(_:)`` gives them.
    ///   - isSentence: whether numbers of fewer than six digits stay unless they are part of a name: they may be figures.
    ///   - shown: what a word becomes.
    public static func replacing(
        _ sought: Set<String>,
        in text: String,
        isSentence: Bool = false,
        by shown: (String) -> String
    ) -> String {
        guard !sought.isEmpty else { return text }
        let words = words(of: text)
        var result = ""
        var end = text.startIndex
        var place = 0
        while place < words.count {
            guard let last = run(at: place, words, text, sought, isSentence: isSentence) else {
                place += 1
                continue
            }
            result += text[end..<words[place].range.lowerBound]
            result += shown(words[place...last].map(\.text).joined())
            end = words[last].range.upperBound
            place = last + 1
        }
        return result + text[end...]
    }

    /// The last word of the longest run from a place that is among the words; nil for none.
    private static func run(
        at place: Int,
        _ words: [Word],
        _ text: String,
        _ sought: Set<String>,
        isSentence: Bool
    ) -> Int? {
        var (joined, found): (String, Int?) = ("", nil)
        for last in place..<min(place + mostJoined, words.count) {
            if last > place, !joins(text, words[last - 1], words[last]) { break }
            joined += words[last].text
            guard sought.contains(joined) else { continue }
            if isSentence, isFigure(joined),
                !isPartOfName(text, words[place].range.lowerBound..<words[last].range.upperBound)
            {
                continue
            }
            found = last
        }
        return found
    }

    private static func isFigure(_ word: String) -> Bool { word.utf8.count < 6 && word.allSatisfy(\.isNumber) }

    private static func isPartOfName(_ text: String, _ range: Range<String.Index>) -> Bool {
        let joints = "/_-“”"
        let before = range.lowerBound > text.startIndex ? text[text.index(before: range.lowerBound)] : " "
        let after = range.upperBound < text.endIndex ? text[range.upperBound] : " "
        return joints.contains(before) || joints.contains(after)
    }
}
