import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Labels at the voxels of another grid")
struct LabelsOnGridTests {
    /// Anisotropic, with the first axis to the left.
    private static let own = VolumeGeometry(
        shape: VolumeShape(x: 14, y: 11, z: 9),
        affine: Affine(
            columnI: SIMD3(-1.5, 0, 0),
            columnJ: SIMD3(0, 1.25, 0),
            columnK: SIMD3(0, 0, 3),
            translation: SIMD3(20, -30, 40)
        )
    )

    private static func labels() throws -> LabelVolume {
        try PlainLabels.random(14, 11, 9, labels: 3, empty: 0.4, seed: 5).volume(own.affine)
    }

    /// Grids that differ from that of the labels, by what they do.
    private static let grids: [(name: String, geometry: VolumeGeometry)] = [
        ("the same", own),
        (
            "shifted by a third of a voxel",
            VolumeGeometry(shape: own.shape, affine: moved(own.affine, by: SIMD3(0.5, -0.4, 1)))
        ),
        (
            "coarser, with its axes in another order and direction",
            VolumeGeometry(
                shape: VolumeShape(x: 7, y: 12, z: 9),
                affine: Affine(
                    columnI: SIMD3(0, 0, -4.07),
                    columnJ: SIMD3(2.53, 0, 0),
                    columnK: SIMD3(0, 2.2, 0),
                    translation: SIMD3(-5, -33, 66)
                )
            )
        ),
        (
            "rotated, and larger than the label map",
            VolumeGeometry(
                shape: VolumeShape(x: 21, y: 19, z: 17),
                affine: Affine(
                    columnI: SIMD3(1.6, 0.8, 0.3),
                    columnJ: SIMD3(-0.8, 1.5, -0.4),
                    columnK: SIMD3(-0.5, 0.3, 2.4),
                    // No centre lies on the border of a voxel.
                    translation: SIMD3(-7.0137, -45.0211, 31.0173)
                )
            )
        ),
        (
            "elsewhere",
            VolumeGeometry(shape: VolumeShape(x: 5, y: 5, z: 5), affine: moved(own.affine, by: SIMD3(500, 0, 0)))
        ),
    ]

    private static func moved(_ affine: Affine, by offset: SIMD3<Double>) -> Affine {
        var affine = affine
        affine.translation += offset
        return affine
    }

    /// The label of the nearest of all voxel centres in units of voxels, in which a point belongs to a voxel.
    private static func slow(_ labels: LabelVolume, at point: SIMD3<Double>) -> UInt16? {
        let (shape, affine) = (labels.geometry.shape, labels.geometry.affine)
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x {
                    let offset = point - affine(SIMD3(Double(i), Double(j), Double(k)))
                    // The axes of the labels are at right angles.
                    let isInside = (0..<3).allSatisfy { axis in
                        let column = affine.column(axis)
                        return abs(dot(offset, column)) < dot(column, column) / 2
                    }
                    if isInside { return labels.voxels[shape.offset(i, j, k)] }
                }
            }
        }
        return nil
    }

    @Test("agree with a search of all voxels", arguments: grids.indices)
    func search(index: Int) throws {
        let (name, geometry) = Self.grids[index]
        let labels = try Self.labels()
        let found = try LabelsOnGrid(labels, on: geometry, scope: .serial())
        #expect(found.labels.geometry == geometry)
        var inside = 0
        var different = 0
        for k in 0..<geometry.shape.z {
            for j in 0..<geometry.shape.y {
                for i in 0..<geometry.shape.x {
                    let expected = Self.slow(labels, at: geometry.affine(SIMD3(Double(i), Double(j), Double(k))))
                    if expected != nil { inside += 1 }
                    if found.labels.voxels[geometry.shape.offset(i, j, k)] != expected ?? 0 { different += 1 }
                }
            }
        }
        #expect(different == 0, "\(name)")
        #expect(found.voxelsInside == inside, "\(name)")
        switch name {
        case "the same", "shifted by a third of a voxel": #expect(inside == Self.own.shape.count)
        case "elsewhere": #expect(inside == 0)
        default: #expect(inside > 100 && inside < geometry.shape.count, "\(name): \(inside)")
        }
    }

    @Test("A centre on the border between two voxels belongs to the one with the higher index")
    func borders() throws {
        // A shift by half a voxel whose coordinates are not exact in binary.
        let spacing = 0.7
        let shape = VolumeShape(x: 6, y: 1, z: 1)
        let affine = Affine(
            columnI: SIMD3(spacing, 0, 0),
            columnJ: SIMD3(0, 1, 0),
            columnK: SIMD3(0, 0, 1),
            translation: SIMD3(0.1, 0, 0)
        )
        let labels = LabelVolume(
            geometry: VolumeGeometry(shape: shape, affine: affine),
            voxels: try FrozenVoxels<UInt16>([1, 2, 3, 4, 5, 6])
        )
        let shifted = VolumeGeometry(shape: shape, affine: Self.moved(affine, by: SIMD3(spacing / 2, 0, 0)))
        let found = try LabelsOnGrid(labels, on: shifted, scope: .serial())
        #expect((0..<6).map { found.labels.voxels[$0] } == [2, 3, 4, 5, 6, 0])
        #expect(found.voxelsInside == 5)
    }
}
