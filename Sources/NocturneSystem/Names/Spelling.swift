/// Names that a person may have meant.
public enum Spelling {
    /// The known name that takes the fewest insertions, deletions and replacements of characters, if these are at most two
    /// and fewer than half of the characters; nil otherwise. The first of equally near ones.
    public static func nearest(to word: String, among names: [String]) -> String? {
        let limit = min(2, (word.count - 1) / 2)
        let found = names.map { ($0, distance(word.lowercased(), $0.lowercased())) }.min { $0.1 < $1.1 }
        return found.flatMap { $0.1 <= limit ? $0.0 : nil }
    }

    /// The number of insertions, deletions and replacements that turn one text into the other (Levenshtein, 1966).
    static func distance(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first), Array(second))
        var row = Array(0...second.count)
        for (i, character) in first.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in second.enumerated() {
                let replaced = diagonal + (character == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
            }
        }
        return row[second.count]
    }
}
