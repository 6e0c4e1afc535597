extension ShownNames {
    /// Finds the names of files in a sentence.
    struct Redaction {
        /// Paths, what they end with (`series/slice.dcm`, `slice.dcm`), and their folders (`series/`).
        private let known: Set<String>
        /// In characters, the longest first.
        private let lengths: [Int]
        /// Whether what looks like a path or a file is a name, too.
        private let guesses: Bool

        /// Of files that are not among the known ones, and whose names stand in a sentence without a mark.
        private static let endings: Set<String> = [
            "bmp", "csv", "dcm", "gif", "gz", "hdr", "heic", "heif", "ima", "img", "jpeg", "jpg", "json", "mha", "mhd",
            "nhdr", "nii", "nrrd", "png", "raw", "tif", "tiff", "webp", "zraw",
        ]

        init(_ paths: [String], guesses: Bool = true) {
            self.guesses = guesses
            var known = Set(paths)
            for path in paths {
                let parts = path.split(separator: "/")
                for start in parts.indices { known.insert(parts[start...].joined(separator: "/")) }
                if let folder = parts.dropLast().last { known.insert("\(folder)/") }
            }
            // Short numbers name slices in their thousands, and would be found in every figure.
            self.known = known.filter { $0.count > 5 || ($0.count > 2 && $0.contains(where: \.isLetter)) }
            lengths = Set(self.known.map(\.count)).sorted(by: >)
        }

        /// - Parameter shown: gets each name as it stands in the text, with the marks around it.
        package func replaced(in text: String, by shown: (Substring) -> String) -> String {
            var result = ""
            var rest = Substring(text)
            var isInWord = false
            // One pass from the left: what was replaced is never searched again.
            while let first = rest.first {
                if let length = isInWord ? nil : name(at: rest, isFirst: result.isEmpty) {
                    result += shown(rest.prefix(length))
                    rest = rest.dropFirst(length)
                    isInWord = true
                } else {
                    result.append(first)
                    rest = rest.dropFirst()
                    isInWord = Self.isOfWord(first)
                }
            }
            return result
        }

        /// How many characters of the text are a name that it begins with; nil when it begins with none.
        private func name(at text: Substring, isFirst: Bool) -> Int? {
            if text.first == "“", let end = text.firstIndex(of: "”") {
                return text.distance(from: text.startIndex, to: end) + 1
            }
            let length = lengths.first { length in
                let name = text.prefix(length)
                guard name.count == length, known.contains(String(name)) else { return false }
                return name.last == "/" || !(text.dropFirst(length).first.map(Self.isOfWord) ?? false)
            }
            let word = guesses ? Self.word(text) : ""
            let isPath = word.count > 1 && word.first == "/"
            // Longer than units are.
            let hasFolder = word.count > 6 && word.contains("/") && word.contains(where: \.isLetter)
            let goesOn = length.map { text.dropFirst($0).first == "/" } ?? true
            // Errors begin with the path of their file, in which there may be spaces.
            if isPath, isFirst, goesOn, let end = text.firstRange(of: ": ")?.lowerBound {
                return text.distance(from: text.startIndex, to: end)
            }
            if let length { return length + Self.word(text.dropFirst(length)).count }
            let ending = word.split(separator: ".", omittingEmptySubsequences: false).dropFirst().last
            return isPath || hasFolder || (ending.map { Self.endings.contains($0.lowercased()) } ?? false)
                ? word.count : nil
        }

        private static func isOfWord(_ character: Character) -> Bool {
            character.isLetter || character.isNumber || character == "_"
        }

        /// Up to the next space or bracket, without the marks that end a sentence or its part.
        private static func word(_ text: Substring) -> Substring {
            var word = text.prefix { !$0.isWhitespace && !"()[]\"'“”".contains($0) }
            while let last = word.last, ".,:;".contains(last) { word = word.dropLast() }
            return word
        }
    }
}
