import NocturneCore
import NocturneTestSupport

/// A voxel's place.
struct Voxel: Hashable {
    var i: Int
    var j: Int
    var k: Int

    init(_ i: Int, _ j: Int, _ k: Int) { (self.i, self.j, self.k) = (i, j, k) }

    static func all(of shape: VolumeShape) -> [Voxel] {
        (0..<shape.z).flatMap { k in (0..<shape.y).flatMap { j in (0..<shape.x).map { Voxel($0, j, k) } } }
    }
}

/// A label map as a plain array, for making phantoms and for slow references.
struct PlainLabels: Equatable {
    let shape: VolumeShape
    var values: [UInt16]

    init(_ x: Int, _ y: Int, _ z: Int, _ value: (Voxel) -> UInt16 = { _ in 0 }) {
        shape = VolumeShape(x: x, y: y, z: z)
        values = Voxel.all(of: shape).map(value)
    }

    /// Each voxel 0 with the chance `empty`, else one of 1…`labels`.
    static func random(_ x: Int, _ y: Int, _ z: Int, labels: Int, empty: Double, seed: UInt64) -> PlainLabels {
        var dice = SplitMix64(seed: seed)
        return PlainLabels(x, y, z) { _ in
            Double.random(in: 0..<1, using: &dice) < empty ? 0 : UInt16(Int.random(in: 1...labels, using: &dice))
        }
    }

    subscript(_ voxel: Voxel) -> UInt16 {
        get { values[shape.offset(voxel.i, voxel.j, voxel.k)] }
        set { values[shape.offset(voxel.i, voxel.j, voxel.k)] = newValue }
    }

    func contains(_ v: Voxel) -> Bool {
        v.i >= 0 && v.j >= 0 && v.k >= 0 && v.i < shape.x && v.j < shape.y && v.k < shape.z
    }

    func volume(_ affine: Affine = .identity) throws -> LabelVolume {
        LabelVolume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: try FrozenVoxels(values))
    }

    /// What `work` makes of these labels.
    func changed(_ work: (inout VoxelBuffer<UInt16>) throws -> Void) throws -> PlainLabels {
        var buffer = try VoxelBuffer<UInt16>(count: values.count)
        for index in values.indices { buffer[index] = values[index] }
        try work(&buffer)
        var result = self
        for index in values.indices { result.values[index] = buffer[index] }
        return result
    }

    func count(of value: UInt16) -> Int { values.count { $0 == value } }
}
