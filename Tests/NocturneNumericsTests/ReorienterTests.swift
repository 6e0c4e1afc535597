import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Rearranging axes")
struct ReorienterTests {
    static let stored = VolumeShape(x: 37, y: 41, z: 35)

    @Test("every orientation is rearranged as Core says, and back to the bit", arguments: allOrientations)
    func roundTrip(orientation: AxisOrientation) throws {
        let scope = ComputeScope.serial()
        let image = (0..<Self.stored.count).map { Float($0) }
        let labels = (0..<Self.stored.count).map { UInt16(truncatingIfNeeded: $0) }
        let canonicalImage = try Reorienter.copy(
            FrozenVoxels(image),
            through: VoxelView(stored: Self.stored, orientation: orientation),
            scope: scope
        )
        #expect(canonicalImage.array() == slowlyRearranged(image, Self.stored, orientation))
        let canonicalLabels = try Reorienter.copy(
            FrozenVoxels(labels),
            through: VoxelView(stored: Self.stored, orientation: orientation),
            scope: scope
        )
        #expect(canonicalLabels.array() == slowlyRearranged(labels, Self.stored, orientation))
        let back = VoxelView(stored: orientation.shape(from: Self.stored), orientation: orientation.inverse)
        let imageAgain = try Reorienter.copy(canonicalImage.frozen(), through: back, scope: scope)
        #expect(imageAgain.array() == image)
        let labelsAgain = try Reorienter.stored(
            canonicalLabels,
            stored: Self.stored,
            orientation: orientation,
            scope: scope
        )
        #expect(labelsAgain.array() == labels)
        #expect(orientation.inverse.inverse == orientation)
    }

    @Test("the number of threads does not matter")
    func widths() async throws {
        let orientation = AxisOrientation(source: [1, 2, 0], reversed: [true, false, true])
        let image = (0..<Self.stored.count).map { Float($0) }
        let results = try await resultsForWidths { scope in
            try Reorienter.copy(
                FrozenVoxels(image),
                through: VoxelView(stored: Self.stored, orientation: orientation),
                scope: scope
            ).array()
        }
        #expect(results.allSatisfy { $0 == results[0] })
    }

    @Test("a box of a view is the box of the rearranged volume", arguments: allOrientations)
    func cropping(orientation: AxisOrientation) throws {
        let image = (0..<Self.stored.count).map { Float($0) }
        let shape = orientation.shape(from: Self.stored)
        let box = VoxelBox(lower: SIMD3(3, 5, 7), upper: SIMD3(30, 9, 20))
        let view = try VoxelView(stored: Self.stored, orientation: orientation).cropped(to: box)
        let rearranged = slowlyRearranged(image, Self.stored, orientation)
        var expected: [Float] = []
        for k in 7..<20 {
            for j in 5..<9 { for i in 3..<30 { expected.append(rearranged[shape.offset(i, j, k)]) } }
        }
        #expect(try Reorienter.copy(FrozenVoxels(image), through: view, scope: .serial()).array() == expected)
    }

    @Test("boxes outside the grid and volumes of another size are refused")
    func hostile() throws {
        let view = VoxelView(stored: Self.stored)
        for box in [
            VoxelBox(lower: SIMD3(-1, 0, 0), upper: SIMD3(3, 3, 3)),
            VoxelBox(lower: SIMD3(0, 0, 0), upper: SIMD3(38, 3, 3)),
            VoxelBox(lower: SIMD3(2, 2, 2), upper: SIMD3(2, 3, 3)),
        ] {
            #expect(throws: NumericsError.self) { try view.cropped(to: box) }
        }
        #expect(throws: NumericsError.self) {
            _ = try Reorienter.copy(FrozenVoxels([Float](repeating: 0, count: 7)), through: view, scope: .serial())
        }
    }
}

@Suite("The box of nonzero voxels")
struct VoxelBoxTests {
    @Test("agrees with a search of the rearranged volume", arguments: [0, 1, 2, 5, 200])
    func againstSearch(occupied: Int) throws {
        var random = SplitMix64(seed: UInt64(occupied + 1))
        let stored = VolumeShape(x: 9, y: 7, z: 8)
        for orientation in allOrientations {
            var image = [Float](repeating: 0, count: stored.count)
            for _ in 0..<occupied { image[random.int(in: 0...stored.count - 1)] = random.float(in: -3..<3) }
            let shape = orientation.shape(from: stored)
            let rearranged = slowlyRearranged(image, stored, orientation)
            for limit in [nil, -1, 1] as [Float?] {
                var expected: VoxelBox?
                for k in 0..<shape.z {
                    for j in 0..<shape.y {
                        for i in 0..<shape.x {
                            let value = rearranged[shape.offset(i, j, k)]
                            guard limit.map({ value > $0 }) ?? (value != 0) else { continue }
                            let one = VoxelBox(lower: SIMD3(i, j, k), upper: SIMD3(i + 1, j + 1, k + 1))
                            expected = expected?.union(one) ?? one
                        }
                    }
                }
                let found = try VoxelBox.foreground(
                    FrozenVoxels(image),
                    above: limit,
                    stored: stored,
                    orientation: orientation,
                    scope: .serial()
                )
                #expect(found == expected)
            }
        }
    }

    @Test("is that of nnU-Net for a block with a hole and a missing corner")
    func worked() throws {
        let shape = VolumeShape(x: 5, y: 5, z: 5)
        var image = [Float](repeating: 0, count: 125)
        for k in 1..<4 { for j in 1..<4 { for i in 1..<4 { image[shape.offset(i, j, k)] = 5 } } }
        image[shape.offset(2, 2, 2)] = 0
        image[shape.offset(1, 1, 1)] = 0
        let box = try VoxelBox.foreground(FrozenVoxels(image), stored: shape, orientation: .stored, scope: .serial())
        #expect(box == VoxelBox(lower: SIMD3(1, 1, 1), upper: SIMD3(4, 4, 4)))
    }

    @Test("holds a voxel that is not a number")
    func notANumber() throws {
        var image = [Float](repeating: 0, count: 27)
        image[13] = .nan
        let box = try VoxelBox.foreground(
            FrozenVoxels(image),
            stored: VolumeShape(x: 3, y: 3, z: 3),
            orientation: .stored,
            scope: .serial()
        )
        #expect(box == VoxelBox(lower: SIMD3(1, 1, 1), upper: SIMD3(2, 2, 2)))
    }
}
