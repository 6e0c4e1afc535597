package import NocturneJournal

/// A table of known titles, with which texts that were read on objects are compared.
///
/// Two texts are compared by their letters and digits in lower case: their score is 1 − d / n, where d is the least number of letters
/// to insert, delete or replace (Levenshtein), and n the letters of the longer one. A title has the best score of itself and, with an
/// author, of both in either order. It is that of the object if its score is at least 0.8, and at least 0.1 above
/// that of every other title.
public struct KnownTitles: Sendable {
    /// A title that an object certainly has.
    package struct Match: Hashable, Sendable {
        /// The row's, in the order of the fields.
        package let fields: [ObjectText.Field]
        /// 0...1.
        package let score: Double
    }

    private struct Title: Sendable {
        let fields: [ObjectText.Field]
        let forms: [Letters]
    }

    static let leastScore = 0.8
    static let leastLead = 0.1
    private static let largestFile = 64 << 20
    private let titles: [Title]

    /// Reads a CSV file with a column for the first of the fields, and for others where they are known.
    /// - Throws: ``BatchError`` that names the file and what is expected.
    public static func read(_ path: String, fields: [String]) throws(BatchError) -> KnownTitles {
        let expected = ". It needs the columns \(fields.joined(separator: ", "))"
        return try NamedTable.read(path, limit: largestFile, called: "the table of titles", expected: expected) {
            bytes throws(NamedTable.Fault) in try KnownTitles(bytes, fields: fields)
        }
    }

    /// - Parameters:
    ///   - bytes: a table; equal rows count once.
    ///   - fields: the columns, of which the first one is required.
    /// - Throws: ``NamedTable/Fault``.
    package init(_ bytes: [UInt8], fields: [String]) throws(NamedTable.Fault) {
        let rows = try NamedTable(bytes, required: Array(fields.prefix(1))).rows
        var seen: Set<[ObjectText.Field]> = []
        titles = rows.compactMap { row in
            let known = fields.compactMap { name in row[name].map { ObjectText.Field(name: name, value: $0) } }
            guard known.first?.name == fields.first, seen.insert(known).inserted else { return nil }
            let texts = known.map(\.value)
            let forms = texts.count == 1 ? [texts] : [texts.prefix(1).map { $0 }, texts, texts.reversed()]
            return Title(fields: known, forms: forms.map { Letters($0.joined()) }.filter { !$0.scalars.isEmpty })
        }
    }

    /// The title that a text certainly is; nil without one.
    package func match(_ text: String) -> Match? {
        let letters = Letters(text)
        guard !letters.scalars.isEmpty else { return nil }
        var (best, second): (Match?, Double) = (nil, 0)
        for title in titles {
            // A score below the second-best changes neither the best title nor its lead, so it need not be computed.
            let least = max(Self.leastScore - Self.leastLead, second)
            guard let score = title.forms.compactMap({ letters.score($0, atLeast: least) }).max() else { continue }
            if score > best?.score ?? 0 {
                second = best?.score ?? 0
                best = Match(fields: title.fields, score: score)
            } else {
                second = max(second, score)
            }
        }
        guard let best, best.score >= Self.leastScore, best.score - second >= Self.leastLead else { return nil }
        return best
    }
}

/// The letters and digits of a text in lower case.
private struct Letters: Sendable {
    let scalars: [Unicode.Scalar]
    /// How often letters occur, some of them counted together.
    private var counts = [Int](repeating: 0, count: 32)

    init(_ text: String) {
        scalars = text.lowercased().unicodeScalars.filter {
            $0.properties.isAlphabetic || $0.properties.numericType != nil
        }
        for scalar in scalars { counts[Int(scalar.value % 32)] += 1 }
    }

    /// The score of two texts; nil below a limit.
    func score(_ other: Letters, atLeast least: Double) -> Double? {
        let longer = Double(max(scalars.count, other.scalars.count))
        // Each step changes one letter of each text at most. Most titles end here.
        let missing = zip(counts, other.counts).reduce((0, 0)) { sum, pair in
            (sum.0 + max(0, pair.0 - pair.1), sum.1 + max(0, pair.1 - pair.0))
        }
        guard 1 - Double(max(missing.0, missing.1)) / longer >= least else { return nil }
        let score = 1 - Double(distance(other)) / longer
        return score >= least ? score : nil
    }

    private func distance(_ other: Letters) -> Int {
        var row = Array(0...other.scalars.count)
        for (i, own) in scalars.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, letter) in other.scalars.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(row[j] + 1, above + 1, diagonal + (own == letter ? 0 : 1))
                diagonal = above
            }
        }
        return row[other.scalars.count]
    }
}
