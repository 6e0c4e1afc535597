/// The value between the eight voxel centres around a position, in double precision.
///
/// - Parameters:
///   - voxels: `shape.count` values, x fastest.
///   - index: the position in voxel indices (i, j, k); whole numbers are voxel centres.
/// - Returns: nil more than 1e-9 of a step beyond the outermost voxel centres. Voxels of weight 0 do not contribute, so a
///   value that is not finite remains in its own voxel.
public func trilinearValue(
    _ voxels: UnsafePointer<Float>,
    _ shape: VolumeShape,
    at index: SIMD3<Double>
) -> Double? {
    var (base, share) = (SIMD3<Int>(0, 0, 0), SIMD3<Double>.zero)
    for axis in 0..<3 {
        let last = Double(shape[axis] - 1)
        guard index[axis] >= -1e-9, index[axis] <= last + 1e-9 else { return nil }
        let place = min(last, max(0, index[axis]))
        base[axis] = min(Int(place), max(0, shape[axis] - 2))
        share[axis] = place - Double(base[axis])
    }
    var sum = 0.0
    for corner in 0..<8 {
        var (offset, weight) = (base, 1.0)
        for axis in 0..<3 {
            let isFar = corner >> axis & 1 == 1
            weight *= isFar ? share[axis] : 1 - share[axis]
            if isFar { offset[axis] += 1 }
        }
        // This also prevents reading beyond the end of a grid of one slice.
        if weight == 0 { continue }
        sum += weight * Double(voxels[shape.offset(offset.x, offset.y, offset.z)])
    }
    return sum
}
