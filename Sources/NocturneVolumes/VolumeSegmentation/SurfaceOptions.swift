public import ArgumentParser
package import NocturneCore
package import NocturneFormats
package import NocturneRecipeSupport

/// Options for labels and their surfaces, for all recipes that have some.
package struct SurfaceOptions: OptionSection {
    /// The heading of the section in help.
    package static let title = "Labels and surfaces of volumes"

    /// The format of surfaces, or none.
    package var meshes = MeshSelection.stl
    /// The frame of mesh coordinates.
    package var frame = PatientFrame.lps
    /// Of the labels' areas in slices, from 0 to 1; outlines are opaque.
    package var labelOpacity = 0.2

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry("meshes", \.meshes, "Format of the surface of each label, or none.").alwaysRecorded.main,
        Entry("frame", \.frame, "Coordinate frame of surfaces.").alwaysRecorded,
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
