import Glibc
import NocturneCore
import NocturneSystem

/// Whether the channels of a case lie on one grid.
extension ChannelCases {
    /// nnU-Net's tolerance.
    static func agree(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Bool {
        (0..<3).allSatisfy { axis in
            let tolerance = 1e-8 + 1e-5 * abs(b[axis])
            return abs(a[axis] - b[axis]) <= tolerance
        }
    }

    /// How the voxels' position in the patient differs from the first channel's, which the network assumes; nil if they
    /// agree. nnU-Net only warns about a difference.
    static func difference(_ own: Affine, _ first: Affine) -> String? {
        func largest(_ vector: SIMD3<Double>) -> Double { max(abs(vector.x), abs(vector.y), abs(vector.z)) }
        for (axis, name) in ["i", "j", "k"].enumerated() {
            let a = own.column(axis) / length(own.column(axis))
            let b = first.column(axis) / length(first.column(axis))
            // NaN does not match either.
            guard largest(a - b) <= 1e-3 else {
                let degrees = acos(min(1, max(-1, dot(a, b)))) * 180 / .pi
                return "has its axis \(name) at \(Float((degrees * 100).rounded() / 100))° to that of the first channel"
            }
        }
        let shift = first.inverse.map { largest($0(own.translation)) } ?? .nan
        guard shift <= 0.5 else {
            return "has voxel positions that differ by \(Float(shift)) voxels from the first channel"
        }
        return nil
    }

    /// A note where corresponding voxels are further apart than rounding makes those of one grid, in voxels of the first one.
    static func displacement(_ own: VolumeGeometry, _ first: VolumeGeometry) -> [Note] {
        guard let inverse = first.affine.inverse else { return [] }
        let last = SIMD3(Double(own.shape.x - 1), Double(own.shape.y - 1), Double(own.shape.z - 1))
        let largest =
            (0..<8).map { corner in
                let place = SIMD3(
                    corner & 1 == 0 ? 0 : last.x,
                    corner & 2 == 0 ? 0 : last.y,
                    corner & 4 == 0 ? 0 : last.z
                )
                let offset = inverse(own.affine(place)) - place
                return max(abs(offset.x), abs(offset.y), abs(offset.z))
            }.max() ?? 0
        guard largest > 0.01 else { return [] }
        let shown = Float((largest * 1000).rounded() / 1000)
        return [
            Note(
                "volume.channelsApart",
                "its voxels lie up to \(shown) voxels away from those of the first channel, and are used as if they lay on them"
            )
        ]
    }

    /// Of a grid, in mm.
    static func text(_ spacing: SIMD3<Double>) -> String {
        (0..<3).map { "\(Float(spacing[$0]))" }.joined(separator: "×")
    }
}
