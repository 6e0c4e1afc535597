import ArgumentParser
package import NocturnePictures
package import NocturneRecipeSupport

/// Options for pictures of volumes, for all recipes that draw some.
package struct PictureOptions: OptionSection {
    /// The heading of the section in help.
    package static let title = "Pictures of volumes"

    /// What the preview shows.
    package var preview = PreviewContent.full
    /// Nil for the window that belongs to the image.
    package var window: WindowChoice?
    /// Whether the slices are written as an animation, `slices.png`.
    package var drawsSlices = false
    /// The planes of these slices.
    package var planes = SlicePlanes.acquired
    /// What a rendering of the volume shows.
    package var rendering = RenderingContent.none
    /// What the page for reviewers gets of each item.
    package var review = ReviewContent.pictures

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry(
            "preview",
            \.preview,
            "Content of preview.png: slices and projections, full for the surfaces of labels as well, or none."
        ),
        Entry(
            "window",
            \.window,
            ArgumentHelp(
                "Window of the pictures: soft-tissue, lung, bone, brain, or centre and width, such as 40,400. For a negative "
                    + "centre write --window=-600,1500. A PET with SUV takes it in g/ml, except with isosurfaces. "
                    + "Default: the window in the header, else soft-tissue for a CT. A NIfTI file counts as CT with "
                    + "--rendering ct-bone or ct-soft-tissue.",
                valueName: "name or C,W"
            )
        ),
        Entry(
            "pictures",
            \.drawsSlices,
            "Also write the slices, with the outlines of labels, as an animation, slices.png."
        ).main,
        Entry(
            "planes",
            \.planes,
            "With --pictures, the planes of the slices: as acquired, or all for one animation of each of the three planes."
        ),
        Entry(
            "rendering",
            \.rendering,
            ArgumentHelp(
                "Also write a 3D rendering and a turntable animation (rendering.png, rendering-turn.png): the bones or the soft "
                    + "tissue of a CT, or an MR image. May show a face."
            )
        ),
        Entry(
            "review",
            \.review,
            ArgumentHelp(
                "What index.html shows of a volume: none, its pictures, or volumes for a reduced volume with labels and surfaces "
                    + "as well, which holds pixels of the input and may show a face."
            )
        ),
    ]

    /// The whole preview, and no other pictures.
    package init() {}

    /// `--planes` needs `--pictures`.
    package func check() throws {
        guard drawsSlices || planes == .acquired else {
            throw ValidationError("--planes is about the slices of --pictures; add --pictures.")
        }
    }
}

/// What `preview.png` of a volume shows.
package enum PreviewContent: String, Sendable, Hashable, Codable, CaseIterable, ExpressibleByArgument {
    /// No picture is written.
    case none
    /// Slices and projections.
    case slices
    /// These, and the surfaces of the labels, which take most of the time of a small volume.
    case full
}

/// Perpendicular to which axes the animated slices are cut.
package enum SlicePlanes: String, Sendable, Hashable, Codable, CaseIterable, ExpressibleByArgument {
    /// Along the axis with the longest voxels, as such volumes are acquired: one animation, `slices.png`.
    case acquired
    /// One animation for each of the three planes: `slices-axial.png`, `slices-coronal.png` and `slices-sagittal.png`.
    case all
}

/// Which renderings of a volume are written: `rendering.png` and `rendering-turn.png`.
package enum RenderingContent: String, Sendable, Hashable, Codable, CaseIterable, ExpressibleByArgument {
    case none
    case ctBone = "ct-bone"
    case ctSoftTissue = "ct-soft-tissue"
    case mr

    /// Nil for none.
    package var preset: RenderingPreset? { RenderingPreset(rawValue: rawValue) }
}

/// How much the page for reviewers gets of each item.
package enum ReviewContent: String, Sendable, Hashable, Codable, CaseIterable, ExpressibleByArgument {
    /// The page shows no pictures of volumes.
    case none
    /// The pictures of the results.
    case pictures
    /// Pictures, and a reduced volume with labels and surfaces: the pixels of the input, which may show a face.
    case volumes
}
