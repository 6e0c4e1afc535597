import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturnePictures
import NocturneRecipeSupport
import NocturneSystem

/// `review.js`: the volume that the page shows, as a classic script, since a page opened from a file may load nothing else.
struct ReviewVolume: Encodable {
    /// The intensities of the darkest and the brightest grey.
    struct Window: Encodable {
        let lower: Double
        let upper: Double
        @Nullable var unit: String?
    }

    /// A window that the page offers.
    struct Preset: Encodable {
        let name: String
        let lower: Double
        let upper: Double
    }

    /// The surface of a label.
    struct Mesh: Encodable {
        let label: Int
        let name: String
        /// `#rrggbb`.
        let color: String
        /// Base64.
        let stl: String
    }

    /// Voxels of the reduced volume along i, j and k.
    let shape: [Int]
    /// From its voxel indices to RAS+ mm.
    let affine: [[Double]]
    /// Base64 of gzip of NIfTI.
    let image: String
    let labels: String
    let window: Window
    /// In the order in which the page lists them.
    let windows: [Preset]
    let meshes: [Mesh]

    /// Surfaces that together take more are left out: a browser has to hold them all.
    static let largestMeshBytes = 24 << 20

    /// The bytes of the reduced volume, and of the means of which it is made, or later of files and their text.
    static func workingBytes(_ shape: VolumeShape) -> Int {
        ReducedVolume.predictedBytes(shape) * 2 + largestMeshBytes * 3 + NIfTIWriter.compressionBytes
    }

    /// What the window of the reduced volume is chosen by.
    struct Intensities {
        /// Whether the values are Hounsfield units.
        let isCT: Bool
        /// The window stored in the file.
        let header: DisplayRange?
        /// That of the model's package.
        let model: PictureWindow?

        /// All intensities that the presets need, in steps of ten units.
        var range: PictureWindow { isCT ? .fixed(lower: -1024, upper: 1536) : .percentiles }

        var presets: [Preset] {
            var presets = header.map { [Preset(name: "as stored in the file", lower: $0.lower, upper: $0.upper)] } ?? []
            if case .fixed(let lower, let upper)? = model {
                presets.append(Preset(name: "the model's", lower: Double(lower), upper: Double(upper)))
            }
            guard isCT else { return presets }
            return presets
                + WindowChoice.presets.map { Preset(name: $0.title, lower: $0.lower, upper: $0.upper) }
        }
    }

    /// Writes the files of the reduced volume into staging, which exists, while the image is in memory.
    /// - Returns: what ``StagedReviewVolume/write(into:item:surfaces:)`` turns into the script.
    static func stage(
        _ volume: Volume,
        labels: LabelVolume?,
        _ intensities: Intensities,
        into context: StageContext
    ) throws -> StagedReviewVolume {
        let reduced = try ReducedVolume(volume, labels: labels, window: intensities.range, scope: context.scope)
        let staged = StagedReviewVolume(
            image: context.staging + "/review-image.nii.gz",
            labels: context.staging + "/review-labels.nii.gz",
            geometry: reduced.geometry,
            window: Window(lower: reduced.lower, upper: reduced.upper, unit: intensities.isCT ? "HU" : nil),
            presets: intensities.presets
        )
        try NIfTIWriter.writeGreys(reduced.greys, geometry: reduced.geometry, to: staged.image, scope: context.scope)
        let map = LabelVolume(geometry: reduced.geometry, voxels: reduced.labels)
        try NIfTIWriter.writeLabels(map, names: [], forms: nil, to: staged.labels, scope: context.scope)
        return staged
    }
}

/// A reduced volume in staging.
struct StagedReviewVolume: Sendable {
    /// The path of a NIfTI file.
    let image: String
    /// The path of another one, on the same grid.
    let labels: String
    let geometry: VolumeGeometry
    let window: ReviewVolume.Window
    let presets: [ReviewVolume.Preset]

    /// - Parameters:
    ///   - folder: the item's new folder, with its surfaces.
    ///   - surfaces: of labels, with files in that folder.
    func write(into folder: String, item: String, surfaces: [(label: ReviewParts.Label, file: String)]) throws {
        let bytes = surfaces.reduce(0) { $0 + (FileSystem.size(folder + "/" + $1.file) ?? 0) }
        let isSmall = bytes <= ReviewVolume.largestMeshBytes
        let shape = geometry.shape
        let data = ReviewVolume(
            shape: [shape.x, shape.y, shape.z],
            affine: geometry.affine.rows,
            image: try Self.base64(image),
            labels: try Self.base64(labels),
            window: window,
            windows: presets,
            meshes: try isSmall
                ? surfaces.map {
                    ReviewVolume.Mesh(
                        label: $0.label.value,
                        name: $0.label.name,
                        color: $0.label.color,
                        stl: try Self.base64(folder + "/" + $0.file)
                    )
                } : []
        )
        let name = try StableJSON.text(item)
        let text = Array("nocturneVolume(\(name), ".utf8) + (try StableJSON.encodeLine(data)).dropLast()
        try FileSystem.write(folder + "/" + ReviewParts.volumeFile, text + Array(");\n".utf8))
    }

    private static func base64(_ path: String) throws -> String {
        Data(try FileSystem.read(path, limit: 1 << 30)).base64EncodedString()
    }
}
