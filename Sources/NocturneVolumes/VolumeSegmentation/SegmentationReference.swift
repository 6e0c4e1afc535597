import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturneSystem

/// Why nothing can be compared.
struct ReferenceFault: Error {
    let detail: String
}

/// Reference labels with the model's values, in the order of the item's voxels.
struct ReferenceLabels {
    /// Label maps, each with those of the model's labels that are compared with it: several maps where labels overlap.
    let maps: [(labels: LabelVolume, values: [UInt16])]
    let notes: [Note]
}

/// A DICOM segmentation as reference labels.
enum SegmentationReference {
    /// The maximum number of label volumes for overlapping segments.
    static let maximumVolumeCount = 3

    /// Maps the segments to `geometry`, each with the value of the label that has its name, else its code. Only if no
    /// segment has either, those without a name are compared by number, and a note states it.
    /// - Throws: ``ReferenceFault``; `CancelledError`; a `DICOMReadError` or `AllocationError` if memory cannot be allocated.
    static func read(
        _ path: String,
        on geometry: VolumeGeometry,
        named wanted: [ModelLabel],
        scope: ComputeScope
    ) throws -> ReferenceLabels {
        let read: DICOMSegmentation
        do {
            read = try DICOMSegmentation.read(
                path: path,
                on: geometry,
                limits: DICOMObjectLimits(volumes: maximumVolumeCount),
                flag: scope.flag
            )
        } catch let error as DICOMReadError where error.code != .tooLarge {
            // Too little memory is not a property of the reference, and is thrown. Other errors are stated in the result.
            throw ReferenceFault(detail: error.detail)
        }
        let (values, notes) = matches(read.segments, wanted)
        guard !values.isEmpty else {
            let names = read.segments.map(\.label).joined(separator: ", ")
            throw ReferenceFault(detail: "none of its segments matches a label of the model: \(names)")
        }
        let overlap = Note(
            "comparison.segmentsOverlap",
            "its segments overlap, the labels of the item do not; each label is compared with all voxels of its segment"
        )
        let all = read.masks.count > 1 ? notes + [overlap] : notes
        return ReferenceLabels(maps: try maps(read, values, scope), notes: all)
    }

    /// The label value of each segment with a matching label.
    private static func matches(
        _ segments: [DICOMSegmentation.Segment],
        _ wanted: [ModelLabel]
    ) -> (values: [UInt16: UInt16], notes: [Note]) {
        var values: [UInt16: UInt16] = [:]
        var rest = wanted
        // Every label is taken once: of two segments that would match it, the first one counts.
        func take(_ isSame: (DICOMSegmentation.Segment, ModelLabel) -> Bool) {
            for segment in segments where values[segment.number] == nil && segment.number > 0 {
                guard let place = rest.firstIndex(where: { isSame(segment, $0) }) else { continue }
                values[segment.number] = rest.remove(at: place).value
            }
        }
        // Names first: several labels can have one code, such as both kidneys, since a code names no side.
        take { LabelName.areSame($0.label, $1.name) }
        take { segment, label in
            guard let own = segment.type, let code = label.code else { return false }
            return own.scheme == code.scheme && own.value == code.value
        }
        var notes: [Note] = []
        if values.isEmpty {
            take { $0.label.isEmpty && $0.number == $1.value }
            if !values.isEmpty {
                let text: Sentence =
                    "by number, since its segments have no names; make sure that both number their labels alike"
                notes.append(Note(.comparedByNumber, text))
            }
        }
        if !rest.isEmpty {
            let names = rest.map(\.name).joined(separator: ", ")
            notes.append(Note("comparison.segmentsMissing", "it has no segment for \(own: names)"))
        }
        return (values, notes)
    }

    /// The masks of the segments with the values of their labels. The masks' memory is changed: nobody may read them
    /// afterwards.
    private static func maps(
        _ read: DICOMSegmentation,
        _ values: [UInt16: UInt16],
        _ scope: ComputeScope
    ) throws -> [(labels: LabelVolume, values: [UInt16])] {
        let shape = read.geometry.shape
        // An entry for every value that a voxel can have.
        let table = (0...UInt16.max).map { values[$0] ?? 0 }
        var maps: [(labels: LabelVolume, values: [UInt16])] = []
        for (place, mask) in read.masks.enumerated() {
            let own = read.segments.filter { $0.volume == place }.compactMap { values[$0.number] }
            guard !own.isEmpty else { continue }
            var buffer = mask.voxels.thawed()
            try buffer.withParallelBuffer { target in
                try scope.forEach(shape.z) { k in
                    for voxel in k * shape.sliceCount..<(k + 1) * shape.sliceCount {
                        target[voxel] = table[Int(target[voxel])]
                    }
                }
            }
            maps.append((LabelVolume(geometry: read.geometry, voxels: buffer.frozen()), own))
        }
        return maps
    }
}
