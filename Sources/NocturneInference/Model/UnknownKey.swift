import NocturneSystem

extension JSONValue {
    /// The path of a key of this text that is not in what was decoded from it, such as `level.spacings` or `labels[0].colour`; nil where
    /// there is none. A key whose value is null is as if it were not there, and keys that begin with `_` are remarks for people.
    /// - Parameter decoded: the decoded value, encoded again.
    func unknownKey(decoded: JSONValue) -> String? {
        switch (self, decoded) {
        case (.object(let written), .object(let known)):
            for (key, value) in written.sorted(by: { $0.key < $1.key }) where !key.hasPrefix("_") && value != .null {
                guard let other = known[key] else { return key }
                if let inner = value.unknownKey(decoded: other) { return Self.path(key, inner) }
            }
        case (.array(let written), .array(let known)):
            for (index, (value, other)) in zip(written, known).enumerated() {
                if let inner = value.unknownKey(decoded: other) { return Self.path("[\(index)]", inner) }
            }
        default: break
        }
        return nil
    }

    private static func path(_ outer: String, _ inner: String) -> String {
        outer + (inner.hasPrefix("[") ? "" : ".") + inner
    }
}
