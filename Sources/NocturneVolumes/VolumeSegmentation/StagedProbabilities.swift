import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem

/// The probabilities of some classes of a volume, written to staging slice by slice while networks run: one byte for each
/// voxel of the networks' box and class, `[slice][class][y][x]`. Only one slice is in memory.
final class StagedProbabilities {
    let classes: ClassProbabilities
    let path: String
    /// On the networks' native grid.
    let box: VoxelBox
    private let file: FileDescriptor
    private var slice: VoxelBuffer<UInt8>
    /// The slices of the box so far.
    private var count = 0
    /// Of the slices that are not yet saved.
    private var digester = ContentDigester()

    /// - Parameter run: the number of the run on the item; each has a separate file.
    init(_ classes: ClassProbabilities, box: VoxelBox, run: Int, in folder: String) throws {
        try FileSystem.makeFolder(folder)
        path = folder + "/probabilities\(run).u8"
        file = try FileDescriptor(updating: path, points: .checkpoint)
        slice = try VoxelBuffer(count: Self.sliceBytes(classes: classes.classes.count, box: box.shape))
        self.classes = classes
        self.box = box
    }

    static func sliceBytes(classes: Int, box: VolumeShape) -> Int { classes * box.sliceCount }

    /// The slices of the box below a slice of the native grid.
    private func slices(below end: Int) -> Int { min(max(end - box.lower.z, 0), box.shape.z) }

    /// Whether these slices of the native grid are all that there are so far.
    func end(at finishedSlices: Int) -> Bool { slices(below: finishedSlices) == count }

    /// Continues after the slices of an earlier attempt.
    /// - Parameter parts: where each save ended on the native grid, and the digest of what it saved.
    /// - Returns: false, and begins again, for slices that are not those which were saved.
    func restore(_ parts: [(end: Int, sha256: String)], scope: ComputeScope) throws -> Bool {
        for part in parts {
            while count < slices(below: part.end) {
                try scope.check()
                guard try readSlice() else { break }
                count += 1
            }
            guard count == slices(below: part.end), takeDigest().hex == part.sha256 else {
                count = 0
                digester = ContentDigester()
                return false
            }
        }
        return true
    }

    private func readSlice() throws -> Bool {
        let offset = count * slice.count
        return slice.withUnsafeMutableBufferPointer { slice in
            let bytes = UnsafeMutableRawBufferPointer(slice)
            guard let read = try? file.read(into: bytes, at: offset), read == bytes.count else { return false }
            digester.update(UnsafeRawBufferPointer(bytes))
            return true
        }
    }

    private func takeDigest() -> ContentDigest {
        let digest = digester.finish()
        digester = ContentDigester()
        return digest
    }

    /// Computes and writes the next slice of the box.
    /// - Throws: `FileSystemError`, `CancelledError`.
    func addSlice(of planes: EnsemblePlanes, scope: ComputeScope) throws {
        precondition(planes.nextSlice == count, "slices come in order, each once")
        try classes.nextSlice(of: planes, into: &slice, scope: scope)
        try slice.withUnsafeBufferPointer { slice in
            let bytes = UnsafeRawBufferPointer(slice)
            try file.write(bytes, at: count * bytes.count)
            digester.update(bytes)
        }
        count += 1
    }

    /// Flushes the slices so far.
    /// - Parameter finishedSlices: of the native grid, as many as these.
    /// - Returns: the digest of those since the last time.
    func save(finishedSlices: Int) throws -> ContentDigest {
        precondition(end(at: finishedSlices), "labels and probabilities advance together")
        try file.flush()
        return takeDigest()
    }
}
