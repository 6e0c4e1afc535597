import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturnePostprocess
import NocturneSystem
import Synchronization

/// Regions of a structure set as label maps; a region that overlaps others goes into a further volume.
struct RegionVolumes {
    private let geometry: VolumeGeometry
    private let maximum: Int
    private let scope: ComputeScope
    private var volumes: [Box]
    private let scratch: Box

    /// A class, since buffers cannot be copied into an array.
    private final class Box {
        var buffer: VoxelBuffer<UInt16>
        init(_ buffer: consuming VoxelBuffer<UInt16>) { self.buffer = buffer }
    }

    /// - Parameter maximum: the maximum number of volumes.
    /// - Throws: `AllocationError`.
    init(geometry: VolumeGeometry, maximum: Int, scope: ComputeScope) throws {
        self.geometry = geometry
        self.maximum = maximum
        self.scope = scope
        // Made without a region too: an item without labels has an empty map.
        volumes = [Box(try VoxelBuffer(count: geometry.shape.count))]
        scratch = Box(try VoxelBuffer(count: geometry.shape.count))
    }

    /// Rasterizes regions with the values of their labels, and sets the volumes of these.
    /// - Returns: how they were rasterized; nil if no volume is left for one.
    mutating func add(_ regions: [DICOMStructureSet.Region], labels: inout [ExistingLabel]) throws -> [Note]? {
        var notes: [Note] = []
        for (index, region) in regions.enumerated() {
            guard let added = try add(region.contours.map(\.points), value: labels[index].value) else { return nil }
            labels[index].volume = added.volume
            notes += added.summary.notes(about: region.name)
        }
        return notes
    }

    /// Rasterizes the contours of a region with `value`.
    /// - Returns: the index of its volume and a summary of the rasterization; nil if no volume is left for it.
    private mutating func add(
        _ contours: [[SIMD3<Double>]],
        value: UInt16
    ) throws -> (volume: Int, summary: ContourRasterizer.Summary)? {
        let summary = try ContourRasterizer.fill(
            contours,
            value: value,
            into: &scratch.buffer,
            geometry: geometry,
            scope: scope
        )
        // A region without voxels overlaps with none, and needs no search.
        guard summary.voxelCount > 0 else { return (0, summary) }
        let slices = slices(of: contours)
        var place = 0
        // The first volume in which the region overlaps with nothing: most structure sets need only one.
        while place < volumes.count, try meets(volumes[place], slices) { place += 1 }
        if place == volumes.count {
            guard place < maximum else { return nil }
            volumes.append(Box(try VoxelBuffer(count: geometry.shape.count)))
        }
        try move(into: volumes[place], slices)
        return (place, summary)
    }

    /// Returns the volumes and empties this collection.
    mutating func frozen() -> [LabelVolume] {
        defer { volumes = [] }
        return volumes.map { box in
            var buffer = VoxelBuffer<UInt16>.empty
            swap(&buffer, &box.buffer)
            return LabelVolume(geometry: geometry, voxels: buffer.frozen())
        }
    }

    /// All slices that the contours may touch.
    private func slices(of contours: [[SIMD3<Double>]]) -> Range<Int> {
        guard let inverse = geometry.affine.inverse else { return 0..<0 }
        var (lower, upper) = (Double.infinity, -Double.infinity)
        for point in contours.joined() {
            let height = inverse(point).z
            lower = min(lower, height)
            upper = max(upper, height)
        }
        // Clamped before the conversion to Int, which would trap for contours far outside.
        let last = Double(geometry.shape.z)
        let first = Int(min(max(lower.rounded(.down), 0), last))
        return first..<max(first, Int(min(max(upper.rounded(.up) + 1, 0), last)))
    }

    /// Whether the region in the scratch volume has a voxel that is not free in a label volume.
    private func meets(_ box: Box, _ slices: Range<Int>) throws(CancelledError) -> Bool {
        let size = geometry.shape.sliceCount
        let found = Atomic<Bool>(false)
        try box.buffer.withParallelReader { (target) throws(CancelledError) in
            try scratch.buffer.withParallelReader { (source) throws(CancelledError) in
                try scope.forEach(slices.count) { index in
                    // One common voxel is enough; the other bodies end as soon as they see it.
                    guard !found.load(ordering: .relaxed) else { return }
                    let start = (slices.lowerBound + index) * size
                    for voxel in start..<start + size where source[voxel] != 0 && target[voxel] != 0 {
                        found.store(true, ordering: .relaxed)
                        return
                    }
                }
            }
        }
        return found.load(ordering: .relaxed)
    }

    /// Moves the scratch volume's voxels into a label volume, and clears it.
    private func move(into box: Box, _ slices: Range<Int>) throws(CancelledError) {
        let size = geometry.shape.sliceCount
        try box.buffer.withParallelBuffer { (target) throws(CancelledError) in
            try scratch.buffer.withParallelBuffer { (source) throws(CancelledError) in
                try scope.forEach(slices.count) { index in
                    let start = (slices.lowerBound + index) * size
                    for voxel in start..<start + size where source[voxel] != 0 {
                        target[voxel] = source[voxel]
                        // Cleared here: the next region finds an empty volume without a pass over all of it.
                        source[voxel] = 0
                    }
                }
            }
        }
    }
}
