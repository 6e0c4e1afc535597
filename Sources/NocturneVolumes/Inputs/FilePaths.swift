/// Paths of files, which the journal has as the path of their folder and their names where they are in one folder: a cohort of
/// scans has millions.
@propertyWrapper
package struct FilePaths: Codable, Sendable, Hashable {
    package var wrappedValue: [String]

    package init(wrappedValue: [String]) { self.wrappedValue = wrappedValue }

    private enum CodingKeys: String, CodingKey { case folder, names }

    package func encode(to encoder: any Encoder) throws {
        let ends = wrappedValue.map { path in
            path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
        }
        guard wrappedValue.count > 1, let end = ends[0],
            zip(wrappedValue, ends).allSatisfy({ path, own in
                own.map { path[..<$0].utf8.elementsEqual(wrappedValue[0][..<end].utf8) } ?? false
            })
        else {
            var container = encoder.singleValueContainer()
            return try container.encode(wrappedValue)
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(String(wrappedValue[0][..<end]), forKey: .folder)
        try container.encode(
            zip(wrappedValue, ends).map { path, end in end.map { path[$0...] } ?? "" }.map(String.init),
            forKey: .names
        )
    }

    package init(from decoder: any Decoder) throws {
        // One file, and all journals of 0.1.0.
        if let paths = try? decoder.singleValueContainer().decode([String].self) {
            wrappedValue = paths
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let folder = try container.decode(String.self, forKey: .folder)
        wrappedValue = try container.decode([String].self, forKey: .names).map { folder + $0 }
    }
}
