internal import CDCMTK
internal import NocturneCore
import NocturneSystem

/// Label volumes that are filled with segments; a new volume is added where segments overlap.
struct MaskVolumes {
    let geometry: VolumeGeometry
    let limits: DICOMObjectLimits
    let path: String
    /// Owned by one reader until they are frozen.
    private var volumes: [Box] = []

    private final class Box {
        var buffer: VoxelBuffer<UInt16>
        init(_ buffer: consuming VoxelBuffer<UInt16>) { self.buffer = buffer }
    }

    init(geometry: VolumeGeometry, limits: DICOMObjectLimits, path: String) {
        self.geometry = geometry
        self.limits = limits
        self.path = path
    }

    var count: Int { volumes.count }

    /// Returns the volumes and removes them from this value.
    mutating func frozen() -> [LabelVolume] {
        let geometry = geometry
        let made = volumes.map { box in
            var buffer = VoxelBuffer<UInt16>.empty
            swap(&buffer, &box.buffer)
            return LabelVolume(geometry: geometry, voxels: buffer.frozen())
        }
        volumes = []
        return made
    }

    private mutating func add() throws(DICOMReadError) {
        guard volumes.count < limits.volumes else {
            throw DICOMReadError(
                .overLimit,
                path: path,
                detail: "segments overlap so much that they need more than \(limits.volumes) label volumes"
            )
        }
        do {
            volumes.append(Box(try VoxelBuffer(count: geometry.shape.count)))
        } catch {
            throw DICOMReadError(.tooLarge, path: path, detail: error.description)
        }
    }

    // MARK: Label maps

    mutating func readLabels(
        of file: borrowing DICOMSegmentation.File,
        slices: [Int],
        segments: inout [DICOMSegmentation.Segment],
        flag: CancellationFlag
    ) throws {
        try add()
        let box = volumes[0]
        let pixels = geometry.shape.sliceCount
        var values = [UInt16](repeating: 0, count: pixels)
        var counts = [Int](repeating: 0, count: 65536)
        let padding = UInt16(exactly: file.facts.padding) ?? 0
        for (index, k) in slices.enumerated() {
            try flag.check()
            try file.read(index, into: &values)
            box.buffer.withUnsafeMutableBufferPointer { voxels in
                for pixel in 0..<pixels where values[pixel] != padding && values[pixel] != 0 {
                    voxels[k * pixels + pixel] = values[pixel]
                }
            }
        }
        // Counted in the volume and not in the frames, of which several may be on one slice.
        box.buffer.withUnsafeBufferPointer { voxels in
            for value in voxels { counts[Int(value)] += 1 }
        }
        counts[0] = 0
        counts[Int(padding)] = 0
        for index in segments.indices { segments[index].voxelCount = counts[Int(segments[index].number)] }
        let known = Set(segments.map { Int($0.number) })
        if let unknownValue = counts.indices.first(where: { counts[$0] > 0 && !known.contains($0) }) {
            throw DICOMReadError(
                .notReadable,
                path: path,
                detail: "pixels have the value \(unknownValue), which no segment has"
            )
        }
    }

    // MARK: One frame per segment and slice

    mutating func readSegments(
        of file: borrowing DICOMSegmentation.File,
        frames: [cdcmtk_segmentation_frame],
        slices: [Int],
        segments: inout [DICOMSegmentation.Segment],
        flag: CancellationFlag
    ) throws {
        var places: [Int: Int] = [:]
        for (index, segment) in segments.enumerated() { places[Int(segment.number)] = index }
        var framesOfSegment = [[Int]](repeating: [], count: segments.count)
        for (index, frame) in frames.enumerated() {
            guard let place = places[Int(frame.segment)], frame.segment > 0 else {
                throw DICOMReadError(
                    .missingElement,
                    path: path,
                    detail: "frame \(index + 1) belongs to no segment (ReferencedSegmentNumber (0062,000B))"
                )
            }
            framesOfSegment[place].append(index)
        }
        try add()
        let pixels = geometry.shape.sliceCount
        var values = [UInt16](repeating: 0, count: pixels)
        // From half of the maximum on; for bits, this is 1.
        let threshold: UInt16 =
            file.kind == .binary ? 1 : UInt16((min(max(Int(file.facts.maximum_fraction), 1), 255) + 1) / 2)
        for index in segments.indices {
            // Frames are decoded twice: to find a volume whose voxels are free in all of them, and then to fill it. Keeping what
            // was decoded would need as much memory as the volume itself.
            let own = framesOfSegment[index]
            var candidates = Array(volumes.indices)
            for frame in own where !candidates.isEmpty {
                try flag.check()
                try file.read(frame, into: &values)
                candidates.removeAll { meets(values, threshold, slice: slices[frame], volume: $0) }
            }
            if candidates.isEmpty {
                try add()
                candidates = [volumes.count - 1]
            }
            let box = volumes[candidates[0]]
            let number = segments[index].number
            var count = 0
            for frame in own {
                try flag.check()
                try file.read(frame, into: &values)
                let start = slices[frame] * pixels
                box.buffer.withUnsafeMutableBufferPointer { voxels in
                    for pixel in 0..<pixels where values[pixel] >= threshold && voxels[start + pixel] != number {
                        voxels[start + pixel] = number
                        count += 1
                    }
                }
            }
            segments[index].volume = candidates[0]
            segments[index].voxelCount = count
        }
    }

    private func meets(_ values: [UInt16], _ threshold: UInt16, slice: Int, volume: Int) -> Bool {
        let start = slice * values.count
        return volumes[volume].buffer.withUnsafeBufferPointer { voxels in
            for pixel in values.indices where values[pixel] >= threshold && voxels[start + pixel] != 0 { return true }
            return false
        }
    }
}
