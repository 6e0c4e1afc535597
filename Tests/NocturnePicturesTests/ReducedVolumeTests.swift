import NocturneConcurrency
import NocturneCore
import NocturnePictures
import NocturneTestSupport
import Testing

@Suite("A reduced volume")
struct ReducedVolumeTests {
    /// Values grow with i; the label is the block's number along i, from 1.
    private func volume(_ shape: VolumeShape, _ affine: Affine) throws -> (Volume, LabelVolume) {
        var image = try VoxelBuffer<Float>(count: shape.count)
        var labels = try VoxelBuffer<UInt16>(count: shape.count)
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x {
                    image[shape.offset(i, j, k)] = Float(i)
                    labels[shape.offset(i, j, k)] = UInt16(i / 3 + 1)
                }
            }
        }
        let geometry = VolumeGeometry(shape: shape, affine: affine)
        return (
            Volume(geometry: geometry, voxels: image.frozen()), LabelVolume(geometry: geometry, voxels: labels.frozen())
        )
    }

    private let affine = Affine(
        columnI: SIMD3(0, 0, -2),
        columnJ: SIMD3(1.5, 0, 0),
        columnK: SIMD3(0, 4, 0),
        translation: SIMD3(10, 20, 30)
    )

    @Test("A small volume keeps its grid, and its values are those of the window")
    func small() throws {
        let (image, labels) = try volume(VolumeShape(x: 20, y: 3, z: 2), affine)
        let reduced = try ReducedVolume(image, labels: labels, window: .fixed(lower: 0, upper: 51), scope: .serial())
        #expect(reduced.geometry == image.geometry)
        #expect((0..<20).allSatisfy { reduced.greys[$0] == UInt8($0 * 5) })
        #expect((0..<20).allSatisfy { reduced.labels[$0] == UInt16($0 / 3 + 1) })
        #expect(reduced.lower == 0 && reduced.upper == 51)
    }

    @Test("A large one becomes means of blocks at their centres, the last one of what is left")
    func large() throws {
        // 400 = 133 blocks of 3 and one voxel.
        let (image, labels) = try volume(VolumeShape(x: 400, y: 5, z: 4), affine)
        let reduced = try ReducedVolume(image, labels: labels, window: .fixed(lower: 0, upper: 510), scope: .serial())
        #expect(reduced.geometry.shape == VolumeShape(x: 134, y: 5, z: 4))
        for i in 0..<133 {
            let mean = Double(3 * i + 1)
            #expect(abs(Double(reduced.greys[i]) - mean / 2) <= 0.5)
            #expect(reduced.labels[i] == UInt16(i + 1))
        }
        #expect(reduced.greys[133] == 200)
        let (new, old) = (reduced.geometry.affine(SIMD3(7, 2, 3)), affine(SIMD3(22, 2, 3)))
        #expect(length(new - old) < 1e-9)
    }

    @Test("Any number of threads gives the same")
    func threads() async throws {
        let (image, labels) = try volume(VolumeShape(x: 300, y: 7, z: 9), affine)
        let results = try await resultsForWidths { scope in
            let reduced = try ReducedVolume(image, labels: labels, window: .percentiles, scope: scope)
            return (0..<reduced.greys.count).map { reduced.greys[$0] }
        }
        #expect(Set(results).count == 1)
    }

    private func length(_ vector: SIMD3<Double>) -> Double { (vector * vector).sum().squareRoot() }
}
