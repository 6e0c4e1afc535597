import NocturneBatch
import NocturneSystem

/// How pictures of volumes are drawn, for all recipes that draw some.
public struct PictureOptions: Hashable, Sendable, Codable {
    public static let standardOpacity = 0.2

    /// Nil for the window that belongs to the image.
    public var window: WindowChoice?
    /// Of the labels' areas in slices, from 0 to 1; outlines are opaque.
    public var labelOpacity: Double

    public init(window: WindowChoice? = nil, labelOpacity: Double = standardOpacity) {
        self.window = window
        self.labelOpacity = labelOpacity
    }

    /// By command-line name, those that are not the default.
    var shown: [String: String] {
        var shown: [String: String] = [:]
        if let window { shown["window"] = window.rawValue }
        if labelOpacity != PictureOptions.standardOpacity { shown["label-opacity"] = "\(labelOpacity)" }
        return shown
    }
}
