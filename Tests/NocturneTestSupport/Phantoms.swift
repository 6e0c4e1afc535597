public import NocturneCore

/// Simple bodies with known answers.
public enum Phantom {
    /// Calls `value` for every voxel (i, j, k).
    public static func voxels<Element: BitwiseCopyable & Sendable>(
        _ shape: VolumeShape,
        _ value: (Int, Int, Int) -> Element
    ) throws -> VoxelBuffer<Element> {
        var buffer = try VoxelBuffer<Element>(count: shape.count)
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x { buffer[shape.offset(i, j, k)] = value(i, j, k) }
            }
        }
        return buffer
    }

    /// `inside` where the voxel's centre is within `radius` voxels of `centre`.
    public static func ball<Element: BitwiseCopyable & Sendable>(
        _ shape: VolumeShape,
        centre: SIMD3<Double>,
        radius: Double,
        inside: Element,
        outside: Element
    ) throws -> VoxelBuffer<Element> {
        try voxels(shape) { i, j, k in
            let offset = SIMD3(Double(i), Double(j), Double(k)) - centre
            return dot(offset, offset) <= radius * radius ? inside : outside
        }
    }

    /// `inside` for voxels within the three ranges.
    public static func box<Element: BitwiseCopyable & Sendable>(
        _ shape: VolumeShape,
        x: Range<Int>,
        y: Range<Int>,
        z: Range<Int>,
        inside: Element,
        outside: Element
    ) throws -> VoxelBuffer<Element> {
        try voxels(shape) { i, j, k in x.contains(i) && y.contains(j) && z.contains(k) ? inside : outside }
    }

    /// The linear image constant + slope · (i, j, k), which every interpolation of order 1 or more must keep.
    public static func ramp(
        _ shape: VolumeShape,
        constant: Double = 0,
        slope: SIMD3<Double>
    ) throws -> VoxelBuffer<Float> {
        try voxels(shape) { i, j, k in Float(constant + dot(slope, SIMD3(Double(i), Double(j), Double(k)))) }
    }

    /// Evenly spread noise from a seed.
    public static func noise(
        _ shape: VolumeShape,
        seed: UInt64,
        in range: Range<Float> = 0..<1
    ) throws -> VoxelBuffer<Float> {
        var generator = SplitMix64(seed: seed)
        return try voxels(shape) { _, _, _ in generator.float(in: range) }
    }

    /// An axis-aligned RAS+ geometry.
    public static func geometry(
        _ shape: VolumeShape,
        spacing: SIMD3<Double> = SIMD3(1, 1, 1),
        origin: SIMD3<Double> = .zero
    ) -> VolumeGeometry {
        var affine = Affine.scaling(spacing)
        affine.translation = origin
        return VolumeGeometry(shape: shape, affine: affine)
    }
}

extension VoxelBuffer {
    /// The elements as an array.
    public func array() -> [Element] { withUnsafeBufferPointer { Array($0) } }
}

extension FrozenVoxels {
    /// The elements as an array.
    public func array() -> [Element] { withUnsafeBufferPointer { Array($0) } }
}
