import Foundation
import NocturnePipeline

/// What a recipe keeps in the journal to find an input again and to plan for it without reading pixels.
protocol ItemSource: Codable, Sendable {}

extension ItemSource {
    /// One line of JSON with sorted keys.
    var encoded: String {
        get throws { String(decoding: try StableJSON.encodeLine(self).dropLast(), as: UTF8.self) }
    }

    /// What ``encoded`` gave.
    init(_ text: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
    }
}
