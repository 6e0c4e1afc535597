public import NocturneSystem

/// Words of paths by which patients can be identified, and the folders below which they are withheld.
///
/// What headers state about a patient is searched for in all paths below the outermost folder that is named after the patient,
/// and at least in the folder of the header's file: what lies next to a DICOM series is often named like it.
public struct PatientFolders: Sendable {
    private var wordsOfFolder: [String: Set<String>] = [:]
    /// What is looked for below each folder.
    private var roots: [String: SoughtWords] = [:]
    /// The folder of the path that was looked at last, and what is looked for in it.
    private var folder: Substring?
    private var inFolder: [(root: String, sought: SoughtWords)] = []

    /// Nothing is withheld.
    public init() {}

    /// - Parameters:
    ///   - sought: what headers state, by the folders of their files.
    ///   - paths: see ``look(at:)``.
    public init(_ sought: [String: SoughtWords], paths: some Sequence<String> = []) {
        for (folder, words) in sought where !words.isEmpty {
            let root = Self.outermost(folder, named: words)
            if roots[root]?.formUnion(words) == nil { roots[root] = words }
        }
        for path in paths { look(at: path) }
    }

    /// Whether there is anything to look for in paths.
    package var isSought: Bool { !roots.isEmpty }

    /// Looks for words in the path of a file that was found. Those of one folder should follow each other.
    public mutating func look(at path: String) {
        guard !roots.isEmpty else { return }
        let end = path.lastIndex(of: "/") ?? path.startIndex
        // Files of one folder follow each other, so that its name is searched once and not for each of them.
        if path[..<end] != folder {
            folder = path[..<end]
            inFolder = Self.prefixes(of: String(path[..<end])).compactMap { prefix in
                roots[prefix].map { (prefix, $0) }
            }
            for (root, sought) in inFolder { add(sought.found(in: String(path[..<end])), below: root) }
        }
        for (root, sought) in inFolder { add(sought.found(in: String(path[end...])), below: root) }
    }

    private mutating func add(_ words: Set<String>, below root: String) {
        if !words.isEmpty { wordsOfFolder[root, default: []].formUnion(words) }
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
