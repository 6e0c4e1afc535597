/// Names that a person may have meant.
public enum Spelling {
    /// The known name that takes the fewest insertions, deletions, replacements and exchanges of neighbouring characters, if
    /// these are at most two and fewer than half of the characters; otherwise the shortest that begins or ends with the word, of
    /// four characters at least; nil for none. The first of equally near ones.
    public static func nearest(to word: String, among names: [String]) -> String? {
        let limit = min(2, (word.count - 1) / 2)
        let found = names.map { ($0, distance(word.lowercased(), $0.lowercased())) }.min { $0.1 < $1.1 }
        if let found, found.1 <= limit { return found.0 }
        guard word.count >= 4 else { return nil }
        let part = word.lowercased()
        return names.filter { $0.lowercased().hasPrefix(part) || $0.lowercased().hasSuffix(part) }.min {
            $0.count < $1.count
        }
    }

    /// The number of insertions, deletions, replacements and exchanges of neighbours that turn one text into the other, no
    /// character being changed twice (optimal string alignment; Damerau, 1964).
    static func distance(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first), Array(second))
        var rows = [Array(0...second.count)]
        for (i, character) in first.enumerated() {
            var row = [i + 1]
            for (j, other) in second.enumerated() {
                var cost = min(rows[i][j] + (character == other ? 0 : 1), row[j] + 1, rows[i][j + 1] + 1)
                if i > 0, j > 0, character == second[j - 1], first[i - 1] == other {
                    cost = min(cost, rows[i - 1][j - 1] + 1)
                }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[first.count][second.count]
    }
}
