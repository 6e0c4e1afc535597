/// What is looked for in paths: names, numbers and birth dates of patients.
///
/// Found is a word that equals one of them, or is put together of several (`DOEJANE1970`), or several words that are one of
/// them when they are joined (`1970-01-01`). Words of fewer than three characters never count alone, numbers and identifiers
/// of fewer than four never at all, nor do words that stand for any patient.
public struct SoughtWords: Sendable, Hashable {
    /// What words may be put together of.
    private var parts: Set<String> = []
    /// What a word, or several joined, must equal.
    private var wholes: Set<String> = []
    /// Of ``parts``, in UTF-8, the longest first.
    private var lengths: [Int] = []
    private var longest = 0

    /// Whether nothing can be found. Then ``found(in:)`` returns at once.
    public var isEmpty: Bool { wholes.isEmpty }

    /// - Parameters:
    ///   - names: family name, given name and further ones.
    ///   - identifiers: of the patient.
    ///   - birthDate: year, month and day in eight digits. Other texts are ignored.
    public init(names: [String], identifiers: [String], birthDate: String) {
        var joined: [Set<String>] = []
        for name in names {
            let words = PathWords.words(of: name).flatMap { Self.spellings(String(name[$0.range])) }
            for word in words where !Self.isAnyones(word) {
                let isNumber = word.allSatisfy(\.isNumber)
                if word.count >= (isNumber ? 4 : 3) { wholes.insert(word) }
                if word.count >= 2, !isNumber { parts.insert(word) }
            }
            let spellings = Self.spellings(name).filter { !$0.isEmpty && !Self.isAnyones($0) }
            wholes.formUnion(spellings.filter { $0.count >= 4 })
            joined.append(Set(spellings))
        }
        // `Li_Wei`: short names count together.
        if joined.count > 1 {
            for first in joined[0] {
                for second in joined[1] where first.count + second.count >= 4 {
                    wholes.formUnion([first + second, second + first])
                }
            }
        }
        for identifier in identifiers.map({ PathWords.folded($0) }) where identifier.count >= 4 {
            // One character that is repeated, as in "0000", stands for a missing identifier.
            guard !Self.isAnyones(identifier), Set(identifier).count > 1 else { continue }
            wholes.insert(identifier)
            // People leave out leading zeros; what is left must be one digit longer to count.
            let short = String(identifier.drop { $0 == "0" })
            if short.count >= 5 { wholes.insert(short) }
            parts.insert(identifier)
        }
        addDate(Array(birthDate.filter { $0.isASCII && $0.isNumber }))
        measure()
    }

    /// A date in the orders and forms in which people write it: `1955-04-03`, `3.4.1955`, `03.04.55`, `3-Apr-1955`.
    private mutating func addDate(_ digits: [Character]) {
        guard digits.count == 8, let number = Int(String(digits[4..<6])), (1...12).contains(number) else { return }
        let (year, month, day) = (String(digits[..<4]), String(digits[4..<6]), String(digits[6...]))
        for word in [year + month + day, day + month + year, month + day + year] {
            wholes.insert(word)
            parts.insert(word)
        }
        func short(_ text: String) -> String { text.hasPrefix("0") ? String(text.dropFirst()) : text }
        let name = Self.months[number - 1]
        for day in Set([day, short(day)]) {
            for month in Set([month, short(month), name, String(name.prefix(3))]) {
                wholes.formUnion([year + month + day, day + month + year, month + day + year])
            }
        }
        // With two digits for the year only where all three have two: three digits are also numbers of other things.
        let inCentury = String(year.suffix(2))
        wholes.formUnion([inCentury + month + day, day + month + inCentury, month + day + inCentury])
    }

    private static let months = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december",
    ]

    /// Looks for what another one looks for, too.
    public mutating func formUnion(_ other: SoughtWords) {
        parts.formUnion(other.parts)
        wholes.formUnion(other.wholes)
        measure()
    }

    private mutating func measure() {
        lengths = Set(parts.map(\.utf8.count)).sorted(by: >)
        longest = wholes.map(\.utf8.count).max() ?? 0
    }

    /// The words found in a path, as ``PathWords/folded(_:)`` gives them.
    public func found(in path: String) -> Set<String> {
        guard !isEmpty else { return [] }
        let words = PathWords.words(of: path)
        // Words that count alone are not joined, so that each of them is the same wherever it is.
        let countsAlone = words.map { wholes.contains($0.text) || isPutTogether($0.text) }
        var found = Set(zip(words, countsAlone).filter(\.1).map(\.0.text))
        for place in words.indices {
            var joined = ""
            for last in place..<min(place + PathWords.mostJoined, words.count) {
                if last > place, !PathWords.joins(path, words[last - 1], words[last]) { break }
                joined += words[last].text
                guard joined.utf8.count <= longest else { break }
                if wholes.contains(joined), !countsAlone[place...last].allSatisfy(\.self) { found.insert(joined) }
            }
        }
        return found
    }

    /// Whether the word consists of two or more of the parts.
    private func isPutTogether(_ word: String) -> Bool {
        guard let shortest = lengths.last, word.utf8.count >= max(2 * shortest, 4) else { return false }
        let bytes = Array(word.utf8)
        var reached = [Bool](repeating: false, count: bytes.count + 1)
        reached[0] = true
        for start in bytes.indices where reached[start] {
            for length in lengths where start + length <= bytes.count && length < bytes.count {
                guard !reached[start + length] else { continue }
                let part = String(decoding: bytes[start..<start + length], as: UTF8.self)
                reached[start + length] = parts.contains(part)
            }
        }
        return reached[bytes.count]
    }

    /// With letters for diacritics, and also as German writes them out.
    private static func spellings(_ name: some StringProtocol) -> [String] {
        let lower = name.lowercased()
        var written = lower
        for (letter, letters) in [("ä", "ae"), ("ö", "oe"), ("ü", "ue")] { written.replace(letter, with: letters) }
        return [PathWords.folded(lower)] + (written == lower ? [] : [PathWords.folded(written)])
    }

    private static func isAnyones(_ word: String) -> Bool { placeholders.contains(word) }

    /// Names of nobody, of test objects, and words that results have themselves.
    private static let placeholders: Set<String> = [
        "anon", "anonym", "anonymised", "anonymized", "anonymous", "case", "dicom", "image", "item", "name", "noname",
        "none", "patient", "phantom", "series", "study", "subject", "test", "uid", "unknown", "unnamed", "withheld",
    ]
}
