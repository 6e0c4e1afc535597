import Foundation
package import NocturneBatch
import NocturneSystem

/// What a recipe keeps in the journal to find an input again and to plan for it without reading pixels.
package protocol ItemSource: Codable, Sendable {
    /// What its results may say of names; nil in journals of versions that did not ask.
    var identifiers: IdentifierPolicy? { get }
    /// The files that its notes may speak of.
    var namedFiles: [String] { get }
}

extension ItemSource {
    /// One line of JSON with sorted keys.
    package var encoded: String {
        get throws { String(decoding: try StableJSON.encodeLine(self).dropLast(), as: UTF8.self) }
    }

    /// What ``encoded`` gave.
    package init(_ text: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
    }
}
