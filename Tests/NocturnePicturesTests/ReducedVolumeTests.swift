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

    /// The axes i, j and k are S, R and A.
    private static func affine(alongS step: Double) -> Affine {
        Affine(
            columnI: SIMD3(0, 0, step),
            columnJ: SIMD3(1.5, 0, 0),
            columnK: SIMD3(0, 4, 0),
            translation: SIMD3(10, 20, 30)
        )
    }

    @Test("A small volume keeps its voxels, along R, A and S, and its values are those of the window")
    func small() throws {
        let (image, labels) = try volume(VolumeShape(x: 20, y: 3, z: 2), Self.affine(alongS: -2))
        let reduced = try ReducedVolume(image, labels: labels, window: .fixed(lower: 0, upper: 51), scope: .serial())
        let shape = VolumeShape(x: 3, y: 2, z: 20)
        var affine = Affine.scaling(SIMD3(1.5, 4, 2))
        // The last of the stored voxels along S is the lowest one.
        affine.translation = SIMD3(10, 20, 30 - 19 * 2)
        #expect(reduced.geometry == VolumeGeometry(shape: shape, affine: affine))
        for place in 0..<shape.count {
            let i = 19 - place / shape.sliceCount
            #expect(reduced.greys[place] == UInt8(i * 5) && reduced.labels[place] == UInt16(i / 3 + 1))
        }
        #expect(reduced.lower == 0 && reduced.upper == 51)
    }

    @Test("A large one becomes means of blocks at their centres, the last one of what is left", arguments: [2.0, -2])
    func large(step: Double) throws {
        // 400 = 133 blocks of 3 and one voxel.
        let affine = Self.affine(alongS: step)
        let (image, labels) = try volume(VolumeShape(x: 400, y: 5, z: 4), affine)
        let reduced = try ReducedVolume(image, labels: labels, window: .fixed(lower: 0, upper: 510), scope: .serial())
        let shape = VolumeShape(x: 5, y: 4, z: 134)
        #expect(reduced.geometry.shape == shape)
        for z in 0..<133 {
            // The stored voxel in the middle of the block.
            let i = step > 0 ? 3 * z + 1 : 398 - 3 * z
            let place = shape.offset(3, 2, z)
            #expect(abs(Double(reduced.greys[place]) - Double(i) / 2) <= 0.5)
            #expect(reduced.labels[place] == UInt16(i / 3 + 1))
            let (new, old) = (reduced.geometry.affine(SIMD3(3, 2, Double(z))), affine(SIMD3(Double(i), 3, 2)))
            #expect(length(new - old) < 1e-9)
        }
        #expect(reduced.greys[shape.offset(3, 2, 133)] == (step > 0 ? 200 : 0))
        #expect(reduced.labels[shape.offset(3, 2, 133)] == (step > 0 ? 134 : 1))
    }

    @Test("Intensities outside the window are limited to it, and what is not finite is left out of a block's mean")
    func limits() throws {
        var voxels = [Float](repeating: 0, count: 384)
        voxels.replaceSubrange(0..<8, with: [-300, 1000, .nan, 40, .infinity, -.infinity, 20, 60])
        let geometry = Phantom.geometry(VolumeShape(x: 384, y: 1, z: 1))
        let volume = Volume(geometry: geometry, voxels: try FrozenVoxels(voxels))
        let reduced = try ReducedVolume(volume, labels: nil, window: .fixed(lower: 0, upper: 100), scope: .serial())
        #expect(reduced.geometry.shape.count == 192)
        // Half of the window, 40, none, and 40 of 100.
        #expect((0..<4).map { reduced.greys[$0] } == [128, 102, 0, 102])
        #expect((0..<192).allSatisfy { reduced.labels[$0] == 0 })
    }

    @Test("A constant volume is black, whatever its value", arguments: [0, 1e6, 1e30, -Float.greatestFiniteMagnitude])
    func constant(value: Float) throws {
        let geometry = Phantom.geometry(VolumeShape(x: 200, y: 2, z: 2))
        let volume = Volume(geometry: geometry, voxels: try FrozenVoxels([Float](repeating: value, count: 800)))
        let reduced = try ReducedVolume(volume, labels: nil, window: .percentiles, scope: .serial())
        #expect((0..<reduced.greys.count).allSatisfy { reduced.greys[$0] == 0 })
        #expect(reduced.lower == Double(value) && reduced.upper >= reduced.lower)
    }

    @Test("The same voxels stored in any order give the same")
    func orders() throws {
        let (volume, labels) = try VolumeRenderingTests.noise()
        let expected = try ReducedVolume(volume, labels: labels, window: .percentiles, scope: .serial())
        for (source, reversed) in [([2, 0, 1], [true, false, true]), ([1, 0, 2], [false, true, false])] {
            let (volume, labels) = try VolumeRenderingTests.noise(source: source, reversed: reversed)
            let reduced = try ReducedVolume(volume, labels: labels, window: .percentiles, scope: .serial())
            #expect(reduced.geometry.shape == expected.geometry.shape)
            let places = 0..<expected.greys.count
            #expect(places.allSatisfy { reduced.greys[$0] == expected.greys[$0] }, "\(source)")
            #expect(places.allSatisfy { reduced.labels[$0] == expected.labels[$0] }, "\(source)")
        }
    }

    @Test("Any number of threads gives the same")
    func threads() async throws {
        let (image, labels) = try volume(VolumeShape(x: 300, y: 7, z: 9), Self.affine(alongS: -2))
        let results = try await resultsForWidths { scope in
            let reduced = try ReducedVolume(image, labels: labels, window: .percentiles, scope: scope)
            return (0..<reduced.greys.count).map { reduced.greys[$0] }
        }
        #expect(Set(results).count == 1)
    }

    private func length(_ vector: SIMD3<Double>) -> Double { (vector * vector).sum().squareRoot() }
}
