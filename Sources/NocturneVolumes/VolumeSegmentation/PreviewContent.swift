/// What `preview.png` of a volume shows.
public enum PreviewContent: String, Sendable, Hashable, Codable, CaseIterable {
    /// No picture is written.
    case none
    /// Slices and projections.
    case slices
    /// These, and the surfaces of the labels, which take most of the time of a small volume.
    case full
}
