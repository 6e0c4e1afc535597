import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// The argument of `--compare`, and of other options that name a file or a folder.
enum ReferenceInstruction {
    /// - Parameter what: what is expected there, for the message.
    /// - Throws: `BatchError` when it does not exist: a mistyped path would otherwise become a note in every item.
    static func check(_ path: String, _ what: String = "reference labels") throws {
        guard FileSystem.exists(path) else {
            throw BatchError(
                .inputMissing,
                path: "",
                detail: "there is no file or folder \(path). Give the path of the \(what)"
            )
        }
    }
}

/// Compares an item's labels with reference labels on the same grid.
///
/// A fault of a reference becomes a note of the item, since the item's labels do not depend on it.
struct ReferenceComparison {
    private let options: SegmentationOptions
    private let source: VolumeSource

    init(_ options: SegmentationOptions, _ source: VolumeSource) {
        self.options = options
        self.source = source
    }

    // MARK: Finding references

    /// Whether a file lies among the inputs but is not an input: the regions file, the references and the second images,
    /// unless an input given is their folder or lies in it.
    static func excludedFromInputs(_ options: SegmentationOptions, _ inputs: [String]) -> @Sendable (String) -> Bool {
        let regions = options.regions.file?.path
        let isExcluded = FilePerItem.excluded([options.comparePath, options.measurePath].compactMap { $0 }, inputs)
        return { path in path == regions || isExcluded(path) }
    }

    /// The reference of an item: the file given, or the first existing one of `folder/path/item.nii.gz` (the input's
    /// relative path), `folder/item.nii.gz`, and both with the endings of other volume files and `.dcm`.
    /// - Parameters:
    ///   - name: the input's path relative to the input as given.
    ///   - item: its name, without path and extension.
    static func file(for name: String, item: String, _ options: SegmentationOptions) -> FoundFile? {
        options.comparePath.flatMap {
            FilePerItem(root: $0, endings: FoundVolume.endings + [".dcm"]).file(for: name, item: item)
        }
    }

    // MARK: Comparing

    /// Four times the surface of the whole grid: more than bodies have, and 50 MB for 512 x 512 x 512 voxels.
    private var boundaryLimit: Int {
        let shape = source.geometry.shape
        return 8 * (shape.x * shape.y + shape.x * shape.z + shape.y * shape.z)
    }

    /// In mm.
    private var tolerance: Double { options.surfaceTolerance ?? LabelComparison.standardTolerance }

    /// Bytes of the reference's labels and the distance search; for a segmentation also of the volumes it may be spread
    /// over.
    func predictedBytes(threads: Int) -> Int {
        guard options.comparePath != nil, let path = source.reference else { return 0 }
        let shape = source.geometry.shape
        // A label map may have to be put into the order of the item's voxels.
        let masks = FoundVolume.isVolumeFile(path) ? 1 : SegmentationReference.maximumVolumeCount
        return shape.count * 2 * (1 + masks) + (1 << 20)
            + LabelComparison.predictedBytes(of: shape, boundaryLimit: boundaryLimit, threads: threads)
    }

    /// - Parameters:
    ///   - wanted: the labels that are compared.
    ///   - all: those that the model knows.
    /// - Throws: `CancelledError`, and `AllocationError` or a `VolumeFileError` if memory cannot be allocated.
    func compare(
        _ labels: LabelVolume,
        named wanted: [ModelLabel],
        among all: [ModelLabel],
        scope: ComputeScope
    ) throws -> (comparison: SegmentationResult.Comparison?, notes: [Note]) {
        guard let root = options.comparePath else { return (nil, []) }
        guard let path = source.reference else {
            return (nil, [.notCompared(because: "there are no reference labels for this item")])
        }
        let name =
            path.hasPrefix(root + "/") ? String(path.dropFirst(root.count + 1)) : (path as NSString).lastPathComponent
        let reference: ReferenceLabels
        do {
            reference = try readReference(path, on: labels.geometry, named: wanted, among: all, scope)
        } catch let fault as ReferenceFault {
            return (nil, [.notCompared(with: name, because: "\(fault.detail)")])
        }
        let compared = try reference.maps.flatMap { map in
            try LabelComparison.compare(
                labels: labels,
                reference: map.labels,
                values: map.values,
                tolerance: tolerance,
                boundaryLimit: boundaryLimit,
                scope: scope
            )
        }
        let voxelVolume = labels.geometry.voxelVolume
        let comparison = SegmentationResult.Comparison(
            reference: source.shownNames.shown(name),
            toleranceMm: tolerance,
            labels: wanted.compactMap { label in
                guard let found = compared.first(where: { $0.value == label.value }) else { return nil }
                return SegmentationResult.Comparison.Label(found, name: label.name, voxelVolume: voxelVolume)
            }
        )
        return (comparison, reference.notes.map { $0.after("compared with \(file: name): ") })
    }

    /// The reference in the order of the item's voxels, with the model's values.
    /// - Throws: ``ReferenceFault``; as above.
    private func readReference(
        _ path: String,
        on geometry: VolumeGeometry,
        named wanted: [ModelLabel],
        among all: [ModelLabel],
        _ scope: ComputeScope
    ) throws -> ReferenceLabels {
        if !FoundVolume.isVolumeFile(path), DICOMScanner.looksLikeDICOM(path) {
            return try SegmentationReference.read(path, on: geometry, named: wanted, scope: scope)
        }
        let read: (header: VolumeFileHeader, labels: LabelVolume)
        var notes: [Note] = []
        do {
            let stored = try VolumeFileReader.readHeader(at: path, assumesOrientation: true).geometry
            guard GridMapping(of: stored, in: geometry) != nil else {
                throw ReferenceFault(detail: LabelVolume.difference(stored, geometry))
            }
            read = try VolumeFileReader.readLabels(at: path, assumesOrientation: true, scope: scope) {
                notes.append($0)
            }
        } catch let error as VolumeFileError where error.code != .outOfMemory {
            throw ReferenceFault(detail: error.detail)
        }
        let matching = try ReferenceNames.match(read.header.labelNames, wanted)
        if matching.values == nil, let other = try read.labels.values(otherThan: all.map(\.value), scope.flag) {
            let values = listed(other.map(String.init), most: 8)
            throw ReferenceFault(
                detail: "it names no labels, and none of its values is a label of the model: \(values)"
            )
        }
        let arranged = try read.labels.arranged(on: geometry, matching.values, scope)
        return ReferenceLabels(maps: [(arranged, matching.compared)], notes: matching.notes + notes)
    }
}

extension LabelVolume {
    /// The values of a map, without 0, if none of them is among some.
    /// - Returns: nil for a map with one of them, and for an empty one.
    fileprivate func values(otherThan wanted: [UInt16], _ flag: CancellationFlag) throws(CancelledError) -> [UInt16]? {
        let seen = try voxels.withUnsafeBufferPointer { voxels throws(CancelledError) -> [Bool] in
            var seen = [Bool](repeating: false, count: 1 << 16)
            for start in stride(from: 0, to: voxels.count, by: 1 << 24) {
                try flag.check()
                for voxel in voxels[start..<min(start + 1 << 24, voxels.count)] { seen[Int(voxel)] = true }
            }
            return seen
        }
        let found = (1...UInt16.max).filter { seen[Int($0)] }
        return found.isEmpty || wanted.contains { seen[Int($0)] } ? nil : found
    }
}
