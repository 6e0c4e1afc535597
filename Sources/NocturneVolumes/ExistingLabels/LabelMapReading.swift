import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturneSystem

/// A label map as it was read.
struct NamedLabelMap: Sendable {
    let labels: LabelVolume
    /// By value: the labels that the map has or that a file names.
    let names: [UInt16: String]
    /// By value: those that the map's header states.
    let colors: [UInt16: LabelColor]

    /// How its values were read.
    let notes: [Note]

    /// More different values than this are not labels.
    static let mostLabels = 4096

    /// - Throws: `VolumeFileError`, ``BatchError``, ``VolumeError``, `CancelledError`.
    init(_ source: ExistingSource, scope: ComputeScope) throws {
        var notes: [Note] = []
        let read = try VolumeFileReader.readLabels(at: source.path, scope: scope) { notes.append($0) }
        labels = try read.labels.arranged(on: source.geometry, nil, scope)
        guard labels.geometry.shape == source.geometry.shape else {
            throw VolumeError(.sourceChanged, path: source.path, "the file changed since it was found")
        }
        var known = read.header.labelNames
        if let file = source.namesFile {
            let file = try LabelNameFile(file)
            known = file.names
            if !file.regions.isEmpty {
                let regions = file.regions.joined(separator: ", ")
                notes.append(Note("labels.regions", "regions of several labels are not measured: \(own: regions)"))
            }
        }
        self.notes = notes
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
                .notLabels,
                path: source.path,
                "it has \(names.count) different values, more than a label map has; it may be an image"
            )
        }
        self.names = names
        colors = read.header.labels.compactMapValues(\.color)
    }
}

extension ExistingLabels {
    /// The image of a label map, or a note why it cannot be used. The labels do not depend on it.
    func niftiImage(_ image: VolumeSource, _ scope: ComputeScope) throws -> (Volume?, [Note]) {
        do {
            let read = try VolumeFileReader.readVolume(at: image.files[0], scope: scope)
            guard read.volume.geometry == image.geometry else {
                throw VolumeError(.sourceChanged, path: image.files[0], "the file changed since it was found")
            }
            return (read.volume, [])
        } catch let error as VolumeFileError where error.code != .outOfMemory {
            return (nil, [.noIntensities("the image cannot be read: \(error.detail)")])
        }
    }
}

/// Names of labels in a JSON file: nnU-Net's `dataset.json`, or an object of names and values.
///
/// Both directions are read: `{"labels": {"background": 0, "kidney": 1}}` and `{"labels": {"1": "kidney"}}`, with or without
/// the member `labels`. An entry with several values is a region of nnU-Net, and names no label.
struct LabelNameFile {
    static let name = "dataset.json"
    private static let limit = 1 << 20

    /// By value, without the background.
    let names: [UInt16: String]
    /// The names of regions, in alphabetical order.
    let regions: [String]

    /// - Throws: ``BatchError`` that names the file.
    init(_ path: String) throws(BatchError) {
        do {
            (names, regions) = Self.entries(try FileSystem.read(path, limit: Self.limit))
        } catch {
            throw BatchError(
                .inputMissing,
                path: "",
                detail: error.unreadable("the file of label names \(path)", option: "--label-names")
            )
        }
        guard !names.isEmpty else {
            throw BatchError(
                .inputMissing,
                path: path,
                detail: "it names no labels; expected {\"labels\": {\"kidney\": 1, ...}}, as in nnU-Net's dataset.json"
            )
        }
    }

    /// None for what is not JSON.
    private static func entries(_ bytes: [UInt8]) -> (names: [UInt16: String], regions: [String]) {
        let parsed = try? JSONSerialization.jsonObject(with: Data(bytes))
        guard let json = parsed as? [String: Any] else { return ([:], []) }
        let labels = json["labels"] as? [String: Any]
        var names: [UInt16: String] = [:]
        for (key, member) in labels ?? json {
            if let value = UInt16(key), let name = member as? String {
                names[value] = name
            } else if let number = member as? Int, let value = UInt16(exactly: number) {
                names[value] = key
            }
        }
        names[0] = nil
        return (names, (labels ?? [:]).filter { ($0.value as? [Int] ?? []).count > 1 }.keys.sorted())
    }
}
