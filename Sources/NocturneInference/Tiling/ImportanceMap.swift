internal import Glibc
public import NocturneCore

/// The weight of each voxel of a tile where tiles overlap: nnU-Net's Gaussian of width patch / 8, 10 at the centre, or one of
/// MONAI's.
///
/// Along an axis of length t the centre is voxel t div 2, so for even t the first voxel is one step further from the
/// centre than the last. Products are computed in float64, then rounded to float32. Nocturne blends with these values:
/// unlike nnU-Net's float16 values they are exact to 24 bits at the borders of a tile too, and their sums cannot
/// suppress a logit by rounding. No weight is ever 0: zeros, if any occur, are replaced by the smallest nonzero weight.
public struct ImportanceMap: Sendable {
    /// How weights, and the sums of ``RollingAccumulator``, are rounded.
    public enum Precision: Hashable, Sendable, Codable {
        /// Weights and sums are float32.
        case single
        /// Rounded again to float16, with zeros replaced by the smallest nonzero weight: the values of nnU-Net itself.
        case half
    }

    /// How weights fall from the centre to the border.
    public enum Profile: String, Hashable, Sendable, Codable, CaseIterable {
        /// nnU-Net's.
        case gaussian
        /// MONAI's Gaussian of width patch / 8: 1 at the centre (t - 1) / 2, at least 0.001, in float32.
        case centredGaussian
        /// 1 everywhere.
        case constant
    }

    /// The shape of a tile.
    public let patch: GridZYX
    /// How weights are rounded.
    public let precision: Precision
    /// `[z][y][x]`, x fastest.
    public let weights: FrozenVoxels<Float>

    /// - Throws: ``AllocationError``.
    /// - Complexity: 4 bytes per voxel of the patch.
    public init(patch: GridZYX, profile: Profile = .gaussian, precision: Precision = .single) throws {
        self.patch = patch
        self.precision = precision
        var buffer = try VoxelBuffer<Float>(count: patch.count)
        switch profile {
        case .gaussian: Self.fillGaussian(&buffer, patch, precision)
        case .centredGaussian: Self.fillCentred(&buffer, patch)
        case .constant: buffer.withUnsafeMutableBufferPointer { $0.update(repeating: 1) }
        }
        weights = buffer.frozen()
    }

    private static func fillGaussian(_ buffer: inout VoxelBuffer<Float>, _ patch: GridZYX, _ precision: Precision) {
        let (alongZ, alongY, alongX) = (profile(patch.z), profile(patch.y), profile(patch.x))
        buffer.withUnsafeMutableBufferPointer { values in
            var smallest = Float.infinity
            var hasZero = false
            var index = 0
            for z in alongZ {
                for y in alongY {
                    for x in alongX {
                        // 10 is the `value_scaling_factor` of nnU-Net's `compute_gaussian`.
                        var value = Float(10 * (z * y * x))
                        if precision == .half { value = Float(Float16(value)) }
                        values[index] = value
                        if value > 0 { smallest = min(smallest, value) } else { hasZero = true }
                        index += 1
                    }
                }
            }
            if hasZero {
                for index in values.indices where values[index] == 0 { values[index] = smallest }
            }
        }
    }

    /// Every operation in float32, in MONAI's order.
    private static func fillCentred(_ buffer: inout VoxelBuffer<Float>, _ patch: GridZYX) {
        let (alongZ, alongY, alongX) = (centred(patch.z), centred(patch.y), centred(patch.x))
        buffer.withUnsafeMutableBufferPointer { values in
            var index = 0
            var smallest = Float.infinity
            for z in alongZ {
                for y in alongY {
                    let plane = z * y
                    for x in alongX {
                        values[index] = plane * x
                        smallest = min(smallest, values[index])
                        index += 1
                    }
                }
            }
            let limit = max(smallest, 1e-3)
            for index in values.indices { values[index] = max(values[index], limit) }
        }
    }

    /// exp(-d² / (2 sigma²)) with d from the centre (length - 1) / 2.
    private static func centred(_ length: Int) -> [Float] {
        let sigma = Double(length) * 0.125
        let divisor = Float(-2 * sigma * sigma)
        return (0..<length).map { index in
            let distance = Float(-Double(length - 1) / 2) + Float(index)
            return exp(distance * distance / divisor)
        }
    }

    /// Bytes of the weights of a patch.
    public static func predictedBytes(patch: GridZYX) -> Int { patch.count * MemoryLayout<Float>.stride }

    /// nnU-Net filters an impulse with scipy's `gaussian_filter`, which ends at 4 sigma, rounded to whole voxels.
    private static func profile(_ length: Int) -> [Double] {
        let sigma = Double(length) / 8
        let radius = Int(4 * sigma + 0.5)
        let centre = length / 2
        return (0..<length).map { index in
            let distance = Double(index - centre) / sigma
            return abs(index - centre) <= radius ? exp(-0.5 * distance * distance) : 0
        }
    }
}
