package import NocturneOutput
package import NocturneSystem

/// What a recipe stores in the journal to locate an input again and to plan for it without reading pixels.
package protocol ItemSource: Codable, Sendable {
    /// How input names appear in its results; nil in journals of versions without this option.
    var identifiers: IdentifierPolicy? { get }
    /// Words of its paths by which its patient can be identified; nil for none.
    var words: [String]? { get }
    /// The files that its notes may mention.
    var namedFiles: [String] { get }
}

extension ItemSource {
    /// None: only sources that know the patient's name or number have some.
    package var words: [String]? { nil }

    /// How its results show names.
    package var shownNames: ShownNames { ShownNames(identifiers ?? .hash, words: words ?? []) }

    /// Notes as its results show them.
    package func shown(_ notes: [Note]) -> [Note] {
        let names = shownNames
        return notes.map { names.shown($0, of: namedFiles) }
    }

    /// One line of JSON with sorted keys.
    package var encoded: String {
        get throws { try StableJSON.text(self) }
    }
}
