public import NocturnePictures

/// Which renderings of a volume are written: `rendering.png` and `rendering-turn.png`.
public enum RenderingContent: String, Sendable, Hashable, Codable, CaseIterable {
    case none
    case ctBone = "ct-bone"
    case ctSoftTissue = "ct-soft-tissue"
    case mr

    public var preset: RenderingPreset? { RenderingPreset(rawValue: rawValue) }
}
