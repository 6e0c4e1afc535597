import Glibc
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneSystem

/// Where the probabilities of one label are: in the file of a part's networks, on their grid.
struct LabelProbabilities: Sendable {
    /// The file of ``StagedProbabilities``.
    let path: String
    /// Among the classes of the file.
    private let place: Int
    private let classes: Int
    /// What the networks saw, in ``native``.
    private let box: VoxelBox
    /// The grid of the volume, in the axes of the networks.
    private let native: VolumeShape
    private let orientation: AxisOrientation

    /// - Parameter place: of the label among the classes of the file.
    init(_ staged: StagedProbabilities, place: Int, _ grid: ModelGrid) {
        path = staged.path
        self.place = place
        classes = staged.classes.classes.count
        box = staged.box
        native = grid.native
        orientation = grid.orientation
    }

    /// Whole numbers of 1/255 on the whole grid of the volume that the networks worked on, in stored order; 0 outside the
    /// networks' box.
    /// - Throws: `FileSystemError`, `AllocationError`, `CancelledError`.
    func map(stored: VolumeShape, scope: ComputeScope) throws -> FrozenVoxels<UInt16> {
        let file = try FileDescriptor(reading: path)
        var map = try VoxelBuffer<UInt16>(count: native.count)
        let shape = box.shape
        for k in 0..<shape.z {
            try scope.check()
            let bytes = try file.read(count: shape.sliceCount, at: (k * classes + place) * shape.sliceCount)
            guard bytes.count == shape.sliceCount else {
                throw FileSystemError(operation: "read", path: path, code: EIO)
            }
            map.withUnsafeMutableBufferPointer { map in
                for j in 0..<shape.y {
                    let to = native.offset(box.lower.x, box.lower.y + j, box.lower.z + k)
                    for i in 0..<shape.x { map[to + i] = UInt16(bytes[j * shape.x + i]) }
                }
            }
        }
        return try Reorienter.stored(map, stored: stored, orientation: orientation, scope: scope).frozen()
    }
}

/// The probabilities of the labels of a volume in staging, and how they become maps on its own grid.
struct ProbabilityMaps: Sendable {
    /// In an item's folder.
    static let folder = "probabilities"
    static func file(_ label: ModelLabel) -> String { "\(folder)/\(label.name).nii.gz" }

    /// By value; a label that several parts of a program decide on has an entry for each.
    let labels: [UInt16: [LabelProbabilities]]
    /// The box of the stored volume in which the networks worked, and their way back to it.
    let box: VoxelBox
    /// Nil where the networks worked on the volume's own grid.
    let grid: ProgramGrid?
    /// Of what the networks worked on.
    let shape: VolumeShape

    /// The map of a label in stored order, as whole numbers of 1/255: the largest where several parts decide on it; 0 where no
    /// network has looked. From the grid of a program it returns as labels do, by the nearest voxel.
    /// - Parameter stored: of the whole volume.
    /// - Throws: `FileSystemError`, `AllocationError`, `CancelledError`.
    func map(of label: UInt16, stored: VolumeShape, scope: ComputeScope) throws -> FrozenVoxels<UInt16> {
        guard let parts = labels[label], !parts.isEmpty else {
            return try VoxelBuffer<UInt16>(count: stored.count).frozen()
        }
        var map = try parts[0].map(stored: shape, scope: scope)
        for part in parts.dropFirst() {
            var largest = try map.mutableCopy()
            map = try part.map(stored: shape, scope: scope)
            try map.withParallelReader { map in
                try largest.withParallelBuffer { largest in
                    try scope.forEachRange(of: shape.count, by: 1 << 16) { range in
                        for index in range { largest[index] = max(largest[index], map[index]) }
                    }
                }
            }
            map = largest.frozen()
        }
        let own = try grid?.stored(map, scope: scope) ?? map
        return try LabelMerge.placed(own, in: box, of: stored, scope: scope)
    }
}
