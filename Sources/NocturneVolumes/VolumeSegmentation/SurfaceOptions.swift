public import ArgumentParser
package import NocturneCore
package import NocturneFormats
import NocturnePictures
package import NocturneRecipeSupport

/// Options for surfaces and pictures, for all recipes that write some.
package struct SurfaceOptions: OptionSection {
    /// The heading of the section in help.
    package static let title = "Surfaces and previews of volumes"

    /// The format of surfaces, or none.
    package var meshes = MeshSelection.stl
    /// The frame of mesh coordinates.
    package var frame = PatientFrame.lps
    /// What the preview shows.
    package var preview = PreviewContent.full
    /// Nil for the window that belongs to the image.
    package var window: WindowChoice?
    /// Of the labels' areas in slices, from 0 to 1; outlines are opaque.
    package var labelOpacity = 0.2

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry("meshes", \.meshes, "Format of the surface of each label, or none.").alwaysRecorded.main,
        Entry("frame", \.frame, "Coordinate frame of surfaces.").alwaysRecorded,
        Entry(
            "preview",
            \.preview,
            "Content of preview.png: slices and projections, full for the surfaces as well, or none."
        ),
        Entry(
            "window",
            \.window,
            ArgumentHelp(
                "Window of the pictures: soft-tissue, lung, bone, brain, or centre and width, such as 40,400 "
                    + "(write --window=-600,1500 for a negative centre). Default: as in the image's header.",
                valueName: "name or C,W"
            )
        ),
        Entry(
            "label-opacity",
            \.labelOpacity,
            ArgumentHelp(
                "Opacity of the labels' areas in the slices, from 0 for outlines only to 1.",
                valueName: "share"
            )
        ),
    ]

    package init() {}

    package func check() throws {
        guard (0...1).contains(labelOpacity) else {
            throw ValidationError("--label-opacity takes a number from 0 to 1, not \(labelOpacity).")
        }
    }
}

extension MeshSelection: ExpressibleByArgument {}

/// What `preview.png` of a volume shows.
public enum PreviewContent: String, Sendable, Hashable, Codable, CaseIterable, ExpressibleByArgument {
    /// No picture is written.
    case none
    /// Slices and projections.
    case slices
    /// These, and the surfaces of the labels, which take most of the time of a small volume.
    case full
}

/// The window of pictures as a person states it: the name of a preset, or centre and width, such as `40,400`.
public struct WindowChoice: RawRepresentable, Hashable, Sendable, ExpressibleByArgument {
    /// A window for one kind of tissue in CT.
    struct Preset {
        let name: String
        /// HU.
        let center: Double
        /// HU.
        let width: Double

        /// For a person.
        var title: String { String(name.map { $0 == "-" ? " " : $0 }) }
        var lower: Double { center - width / 2 }
        var upper: Double { center + width / 2 }
    }

    static let presets = [
        Preset(name: "soft-tissue", center: 40, width: 400), Preset(name: "lung", center: -600, width: 1500),
        Preset(name: "bone", center: 300, width: 1500), Preset(name: "brain", center: 40, width: 80),
    ]

    /// The text as it was given.
    public let rawValue: String
    /// In the unit of the image.
    let lower: Double
    let upper: Double

    /// Nil for other names, numbers that are not finite, and a width that is not above 0.
    public init?(rawValue: String) {
        self.rawValue = rawValue
        if let preset = WindowChoice.presets.first(where: { $0.name == rawValue }) {
            (lower, upper) = (preset.lower, preset.upper)
            return
        }
        let numbers = rawValue.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard numbers.count == 2, let center = numbers[0], let width = numbers[1], width > 0 else { return nil }
        (lower, upper) = (center - width / 2, center + width / 2)
        guard PictureWindow(lower: lower, upper: upper) != nil else { return nil }
    }

    var pictureWindow: PictureWindow { .fixed(lower: Float(lower), upper: Float(upper)) }
}
