internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// The box around a label with one bit per node: set inside the label. A layer outside the label surrounds the box,
/// which closes surfaces at the border of the volume. Stored row after row along i; each row starts at a new 64-bit
/// word.
struct LabelBits: Sendable {
    let box: VoxelBox
    /// Number of nodes along i, j and k: the size of the box plus two.
    let nodes: SIMD3<Int>
    let wordsPerRow: Int
    let words: [UInt64]

    /// Time: one read of the voxels of the box.
    /// - Throws: ``CancelledError`` when the flag is raised; it is checked for every slice.
    init(
        of value: UInt16,
        in voxels: ParallelReader<UInt16>,
        shape: VolumeShape,
        box: VoxelBox,
        scope: ComputeScope
    ) throws(CancelledError) {
        try self.init(box: box, scope: scope) { slice, firstRow, wordsPerRow in
            let wanted = SIMD16<UInt16>(repeating: value)
            for row in 0..<box.shape.y {
                let line = voxels.base + shape.offset(box.lower.x, box.lower.y + row, box.lower.z + slice)
                Self.load(line, count: box.shape.x, to: firstRow + row * wordsPerRow) { voxels in
                    UInt64(SIMD16<UInt16>.zero.replacing(with: Self.places, where: voxels .== wanted).wrappedSum())
                } isSet: {
                    $0 == value
                }
            }
        }
    }

    /// Bits from anywhere.
    /// - Parameter fill: sets bits of a slice, whose rows start `wordsPerRow` words after each other; voxel `i` of a row
    ///   is bit `i + 1`. Called once for each slice, from several threads.
    init(
        box: VoxelBox,
        scope: ComputeScope,
        fill: @Sendable (_ slice: Int, _ firstRow: UnsafeMutablePointer<UInt64>, _ wordsPerRow: Int) -> Void
    ) throws(CancelledError) {
        let nodes = box.upper &- box.lower &+ SIMD3(2, 2, 2)
        let wordsPerRow = Self.wordsPerRow(box.shape)
        var words = [UInt64](repeating: 0, count: wordsPerRow * nodes.y * nodes.z)
        try words.withParallelBuffer { target throws(CancelledError) in
            try scope.forEach(box.shape.z) { slice in
                fill(slice, target.base + ((slice + 1) * nodes.y + 1) * wordsPerRow, wordsPerRow)
            }
        }
        self.box = box
        self.nodes = nodes
        self.wordsPerRow = wordsPerRow
        self.words = words
    }

    private static func wordsPerRow(_ shape: VolumeShape) -> Int { (shape.x + 2 + 63) / 64 }

    /// The number of bytes for the bits of a box of this shape.
    static func byteCount(_ shape: VolumeShape) -> Int { wordsPerRow(shape) * (shape.y + 2) * (shape.z + 2) * 8 }

    /// The bit of each of 16 voxels.
    static var places: SIMD16<UInt16> {
        SIMD16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
    }

    /// Sets the bits of one row: voxel 0 becomes bit 1. The bits are clear before.
    ///
    /// Inlined, so that the two functions cost nothing: 16 voxels take a comparison and a sum of vectors.
    /// - Parameters:
    ///   - bits: of 16 voxels, the first one in the lowest bit.
    ///   - isSet: the same for a voxel of the rest of a row.
    @inline(__always)
    static func load<Voxel: SIMDScalar>(
        _ line: UnsafePointer<Voxel>,
        count: Int,
        to target: UnsafeMutablePointer<UInt64>,
        bits sixteen: (SIMD16<Voxel>) -> UInt64,
        isSet: (Voxel) -> Bool
    ) {
        let bytes = UnsafeRawPointer(line)
        var carried: UInt64 = 0
        var voxel = 0
        var word = 0
        while voxel < count {
            var bits: UInt64 = 0
            let end = min(count, voxel + 64)
            var place: UInt64 = 0
            while voxel + 16 <= end {
                let voxels = bytes.loadUnaligned(
                    fromByteOffset: voxel * MemoryLayout<Voxel>.size,
                    as: SIMD16<Voxel>.self
                )
                bits |= sixteen(voxels) &<< place
                place &+= 16
                voxel += 16
            }
            while voxel < end {
                bits |= (isSet(line[voxel]) ? 1 : 0) &<< place
                place &+= 1
                voxel += 1
            }
            target[word] = bits << 1 | carried
            carried = bits >> 63
            word += 1
        }
        // Needed only after 64 voxels; the outer layer then has a word there.
        if carried != 0 { target[word] = carried }
    }
}
