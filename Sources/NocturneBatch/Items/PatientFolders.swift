public import NocturneSystem

/// Words of paths by which patients can be identified, and the folders below which they are withheld.
///
/// What headers say of a patient is looked for in all paths below the outermost folder that is named after the patient, and at
/// least in the folder of the header's file: what lies beside a DICOM series is often named like it.
public struct PatientFolders: Sendable {
    private var wordsOfFolder: [String: Set<String>] = [:]

    public init() {}

    /// - Parameters:
    ///   - sought: what headers say, by the folders of their files.
    ///   - paths: of all files that were found. Those of one folder should follow each other.
    public init(_ sought: [String: SoughtWords], paths: some Sequence<String>) {
        var roots: [String: SoughtWords] = [:]
        for (folder, words) in sought where !words.isEmpty {
            let root = Self.outermost(folder, named: words)
            if roots[root]?.formUnion(words) == nil { roots[root] = words }
        }
        guard !roots.isEmpty else { return }
        var (folder, inFolder): (Substring, [(root: String, sought: SoughtWords)]) = ("", [])
        for path in paths {
            let end = path.lastIndex(of: "/") ?? path.startIndex
            if path[..<end] != folder {
                folder = path[..<end]
                inFolder = Self.prefixes(of: String(folder)).compactMap { prefix in
                    roots[prefix].map { (prefix, $0) }
                }
                for (root, sought) in inFolder {
                    wordsOfFolder[root, default: []].formUnion(sought.found(in: String(folder)))
                }
            }
            for (root, sought) in inFolder {
                let found = sought.found(in: String(path[end...]))
                if !found.isEmpty { wordsOfFolder[root, default: []].formUnion(found) }
            }
        }
        wordsOfFolder = wordsOfFolder.filter { !$0.value.isEmpty }
    }

    /// Adds what others have found.
    public mutating func merge(_ other: PatientFolders) {
        wordsOfFolder.merge(other.wordsOfFolder) { $0.union($1) }
    }

    /// Whether nothing is to be withheld.
    public var isEmpty: Bool { wordsOfFolder.isEmpty }

    /// The words to be withheld of what lies at a path, sorted.
    public func words(of path: String) -> [String] {
        guard !wordsOfFolder.isEmpty else { return [] }
        var words: Set<String> = []
        for prefix in Self.prefixes(of: path) { words.formUnion(wordsOfFolder[prefix] ?? []) }
        return words.sorted()
    }

    /// The outermost folder of the path whose own name has one of the words; the path itself if there is none.
    private static func outermost(_ path: String, named words: SoughtWords) -> String {
        prefixes(of: path).first { prefix in
            !words.found(in: String(prefix[(prefix.lastIndex(of: "/") ?? prefix.startIndex)...])).isEmpty
        } ?? path
    }

    /// The folders of a path from the outside in, and the path itself.
    private static func prefixes(of path: String) -> [String] {
        var prefixes: [String] = []
        var index = path.startIndex
        while let slash = path[index...].firstIndex(of: "/") {
            if slash > path.startIndex { prefixes.append(String(path[..<slash])) }
            index = path.index(after: slash)
        }
        return prefixes + [path]
    }
}
