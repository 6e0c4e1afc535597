import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem

/// A NIfTI label map as it was read.
struct NamedLabelMap: Sendable {
    let labels: LabelVolume
    /// By value: the labels that the map has or that a file names.
    let names: [UInt16: String]

    /// More different values than this are not labels.
    static let mostLabels = 4096

    /// - Throws: `NIfTIError`, ``BatchError``, ``VolumeError``, `CancelledError`.
    init(_ source: ExistingSource, scope: ComputeScope) throws {
        let read = try NIfTIReader.readLabels(at: source.path, scope: scope)
        labels = try read.labels.arranged(on: source.geometry, nil, scope)
        guard labels.geometry.shape == source.geometry.shape else {
            throw VolumeError(code: .sourceChanged, path: source.path, detail: "the file changed since it was found")
        }
        var known = read.header.labelNames
        if let file = source.namesFile { known = try LabelNameFile(file).names }
        var isPresent = [Bool](repeating: false, count: Int(UInt16.max) + 1)
        try labels.voxels.withParallelReader { voxels throws(CancelledError) in
            let shape = source.geometry.shape
            for k in 0..<shape.z {
                try scope.check()
                for voxel in k * shape.sliceCount..<(k + 1) * shape.sliceCount { isPresent[Int(voxels[voxel])] = true }
            }
        }
        var names = known
        names[0] = nil
        for value in 1..<isPresent.count where isPresent[value] {
            names[UInt16(value)] = known[UInt16(value)] ?? "label \(value)"
        }
        guard names.count <= Self.mostLabels else {
            throw VolumeError(
                code: .notLabels,
                path: source.path,
                detail: "it has \(names.count) different values, more than a label map has; it may be an image"
            )
        }
        self.names = names
    }
}

extension ExistingLabels {
    /// The image of a label map, or a note why it cannot be used. The labels do not depend on it.
    func niftiImage(_ image: VolumeSource, _ scope: ComputeScope) throws -> (Volume?, [String]) {
        do {
            let read = try NIfTIReader.readVolume(at: image.files[0], scope: scope)
            guard read.volume.geometry == image.geometry else {
                throw VolumeError(
                    code: .sourceChanged,
                    path: image.files[0],
                    detail: "the file changed since it was found"
                )
            }
            return (read.volume, [])
        } catch let error as NIfTIError where error.code != .outOfMemory {
            return (nil, ["intensities are not measured: the image cannot be read: \(error.detail)"])
        }
    }
}
