/// The value of `--meshes`: a format, or none.
public struct MeshSelection: RawRepresentable, Hashable, Sendable, Codable, CaseIterable, CustomStringConvertible {
    public let rawValue: String

    /// Nil if the value is neither a format's name nor "none".
    public init?(rawValue: String) {
        guard rawValue == Self.none.rawValue || MeshFormats.named(rawValue) != nil else { return nil }
        self.rawValue = rawValue
    }

    public init(_ format: some MeshFormat) { rawValue = format.name }

    private init() { rawValue = "none" }

    /// No surfaces are written.
    public static let none = MeshSelection()

    /// In the order of ``MeshFormats/all``, then ``none``.
    public static var allCases: [MeshSelection] { MeshFormats.all.map { MeshSelection($0) } + [.none] }

    /// Nil for ``none``.
    public var format: (any MeshFormat)? { MeshFormats.named(rawValue) }

    public var description: String { rawValue }

    /// All values, for help and messages: "stl, obj or none".
    public static var list: String {
        MeshFormats.all.map(\.name).joined(separator: ", ") + " or none"
    }
}
