public import NocturneJournal

/// How new items of a batch are named: the option `--name`, such as `{1}_{3}` or `{patient}/{study}`.
///
/// A name made by it depends on the item alone, so that it is the same whatever else the batch has.
public struct NamePattern: Sendable, Hashable {
    private enum Part: Sendable, Hashable {
        case text(String)
        /// Of the path below the input, see ``levels(of:below:)``.
        case level(Int)
        /// The last level.
        case name
        case header(DiscoveredItem.HeaderName)

        init?(placeholder: Substring) {
            if let level = Int(placeholder), level >= 0 {
                self = .level(level)
            } else if placeholder == "name" {
                self = .name
            } else if let value = DiscoveredItem.HeaderName(rawValue: String(placeholder)) {
                self = .header(value)
            } else {
                return nil
            }
        }
    }

    /// The name of the option.
    public static let option = "name"

    /// As it was given.
    public let text: String
    private let parts: [Part]

    /// - Returns: nil for an unknown placeholder, a brace without its partner, and a text without any placeholder, which would give
    ///   all items one name.
    public init?(_ text: String) {
        var (parts, rest): ([Part], Substring) = ([], text[...])
        while let start = rest.firstIndex(where: { "{}".contains($0) }) {
            let inner = rest[rest.index(after: start)...]
            guard rest[start] == "{", let end = inner.firstIndex(of: "}"), let part = Part(placeholder: inner[..<end])
            else { return nil }
            parts += [.text(String(rest[..<start])), part]
            rest = inner[inner.index(after: end)...]
        }
        guard !parts.isEmpty else { return nil }
        self.text = text
        self.parts = parts + [.text(String(rest))]
    }

    /// The name of an item; nil where it has not every level and value.
    /// - Parameters:
    ///   - levels: of its path, as results show them: see ``levels(of:below:)``.
    ///   - header: what its header names it by, as results show it.
    public func name(levels: [String], header: [DiscoveredItem.HeaderName: String]) -> String? {
        var name = ""
        for part in parts {
            let value: String?
            switch part {
            case .text(let text):
                name += text
                continue
            case .level(let level): value = level < levels.count ? levels[level] : nil
            case .name: value = levels.last
            case .header(let element): value = header[element]
            }
            guard let value, !value.isEmpty else { return nil }
            name += value
        }
        return name
    }

    /// The name of the input that a path lies in, then the parts of the path below it.
    ///
    /// Of inputs within each other the outermost counts, so that a folder that is given later changes nothing. A path that was itself
    /// given counts as if its folder were given, as does one that is in no input.
    /// - Parameter inputs: as absolute paths, without a slash at the end but for the root.
    /// - Complexity: that of the path, however many inputs there are.
    public static func levels(of path: String, below inputs: Set<String>) -> [String] {
        let parts = path.split(separator: "/").map(String.init)
        let outermost = (0...parts.count).first { inputs.contains("/" + parts[..<$0].joined(separator: "/")) }
        let depth = min(outermost ?? .max, parts.count - 1)
        return depth < 1 ? [""] + parts : Array(parts[(depth - 1)...])
    }
}
