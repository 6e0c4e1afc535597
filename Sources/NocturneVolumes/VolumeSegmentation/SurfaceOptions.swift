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
    /// How far vertices of the surfaces of labels may be from the surfaces with fewer triangles, in mm; 0 keeps all triangles, nil
    /// is a third of the smallest distance between voxels.
    package var meshDetail: Double?
    /// Of the labels' areas in slices, from 0 to 1; outlines are opaque.
    package var labelOpacity = 0.2

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry("meshes", \.meshes, "Format of the surface of each label, or none.").alwaysRecorded.main,
        Entry("frame", \.frame, "Coordinate frame of surfaces.").alwaysRecorded,
        Entry(
            "mesh-detail",
            \.meshDetail,
            ArgumentHelp(
                "Reduce the surfaces of labels to fewer triangles, from which no vertex of the full surface is further than this "
                    + "distance in mm; 0 keeps all triangles. Default: a third of the smallest distance between voxels. "
                    + "Isosurfaces are not reduced.",
                valueName: "mm"
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

    /// STL in LPS, simplified within a third of the smallest distance between voxels.
    package init() {}

    /// How far the surfaces of labels on a grid may deviate, in mm.
    func meshTolerance(on geometry: VolumeGeometry) -> Double { meshDetail ?? geometry.spacing.min() / 3 }

    /// The ranges of `--mesh-detail` and `--label-opacity`.
    package func check() throws {
        if let meshDetail, !(0...1000).contains(meshDetail) {
            throw ValidationError("--mesh-detail takes 0 to 1000 mm, not \(meshDetail).")
        }
        guard (0...1).contains(labelOpacity) else {
            throw ValidationError("--label-opacity takes a number from 0 to 1, not \(labelOpacity).")
        }
    }
}

extension MeshSelection: ExpressibleByArgument {}
