import NocturneCore
import NocturnePictures
import Testing

@Suite("Slices as an animation")
struct SliceStripTests {
    static func strip(
        _ shape: VolumeShape,
        spacing: SIMD3<Double>,
        colors: Int = 1,
        plane: SliceStrip.Plane? = nil
    ) throws -> SliceStrip {
        var image = try VoxelBuffer<Float>(count: shape.count)
        var labels = try VoxelBuffer<UInt16>(count: shape.count)
        for k in 0..<shape.z {
            for place in 0..<shape.sliceCount { image[k * shape.sliceCount + place] = Float(k) }
        }
        labels[shape.count - 1] = 1
        let geometry = VolumeGeometry(shape: shape, affine: .scaling(spacing))
        return SliceStrip(
            Preview(
                volume: Volume(geometry: geometry, voxels: image.frozen()),
                labels: LabelVolume(geometry: geometry, voxels: labels.frozen()),
                colors: Dictionary(
                    uniqueKeysWithValues: (1...colors).map {
                        (UInt16($0), SIMD3(255, UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)))
                    }
                ),
                window: .fixed(lower: 0, upper: Float(shape.z - 1)),
                labelled: VoxelBox(
                    lower: SIMD3(shape.x - 1, shape.y - 1, shape.z - 1),
                    upper: SIMD3(shape.x, shape.y, shape.z)
                )
            ),
            plane: plane
        )
    }

    @Test("Each of the three planes can be asked for", arguments: zip(SliceStrip.Plane.allCases, [6, 10, 20]))
    func planes(_ plane: SliceStrip.Plane, _ slices: Int) throws {
        let strip = try Self.strip(VolumeShape(x: 20, y: 10, z: 6), spacing: SIMD3(1, 1, 1), plane: plane)
        #expect(strip.frameCount == slices)
        let sizes = [SliceStrip.Plane.axial: [80, 40], .coronal: [80, 24], .sagittal: [40, 24]]
        #expect([strip.width, strip.height] == sizes[plane])
    }

    @Test("Every slice is a frame from the feet to the head, with the label's outline in its colour")
    func frames() throws {
        let strip = try Self.strip(VolumeShape(x: 20, y: 10, z: 6), spacing: SIMD3(1, 1, 1))
        #expect(strip.frameCount == 6)
        #expect(strip.width == 80)
        #expect(strip.height == 40)
        #expect(strip.palette.count == 256)
        #expect(strip.palette.first == .zero && strip.palette[254] == SIMD3(repeating: 255))
        for slice in 0..<6 {
            let frame = strip.frame(slice)
            let grey = strip.palette[Int(frame[20 + 80 * 10])]
            #expect(abs(Int(grey.x) - slice * 51) <= 1)
            // The label is the last voxel, of four pixels: right, front, head; its corner is round.
            #expect((strip.palette[Int(frame[2 + 80 * 2])] == SIMD3(255, 1, 0)) == (slice == 5))
        }
        #expect(strip.cover() == strip.frame(5))
    }

    @Test("Letters at opposite edges are left out where they would hide what is between them")
    func letters() throws {
        let strip = try Self.strip(VolumeShape(x: 40, y: 20, z: 5), spacing: SIMD3(1, 1, 1), plane: .coronal)
        try #require(strip.width == 160 && strip.height == 20)
        // One value in each row, but for the letters.
        let frame = strip.frame(0)
        let columns = (0..<160).filter { x in (0..<20).contains { y in frame[x + 160 * y] != frame[80 + 160 * y] } }
        #expect(columns.contains { $0 < 16 } && columns.contains { $0 >= 144 })
        #expect(!columns.contains { (16..<144).contains($0) })
    }

    @Test("Of many slices 200 are chosen evenly")
    func manySlices() throws {
        let strip = try Self.strip(VolumeShape(x: 4, y: 4, z: 301), spacing: SIMD3(1, 1, 1))
        #expect(strip.frameCount == 200)
        let greys = (0..<200).map { Int(strip.palette[Int(strip.frame($0)[5])].x) }
        #expect(greys == greys.sorted() && greys[0] <= 1 && greys[199] >= 254)
    }

    @Test("Slices lie across the longest voxels, and voxels keep their proportions")
    func direction() throws {
        let coronal = try Self.strip(VolumeShape(x: 30, y: 8, z: 40), spacing: SIMD3(1, 4, 1.5))
        #expect(coronal.frameCount == 8)
        #expect(coronal.width == 120)
        #expect(coronal.height == 240)
        let sagittal = try Self.strip(VolumeShape(x: 5, y: 600, z: 300), spacing: SIMD3(3, 1, 1))
        #expect(sagittal.frameCount == 5)
        #expect(sagittal.width == 512)
        #expect(sagittal.height == 256)
    }

    @Test("More colours than a palette holds take the nearest")
    func manyColors() throws {
        let strip = try Self.strip(VolumeShape(x: 4, y: 4, z: 4), spacing: SIMD3(1, 1, 1), colors: 500)
        #expect(strip.palette.count == 256)
        #expect(strip.palette[127] == SIMD3(repeating: 255))
        #expect(strip.palette[128] == SIMD3(255, 1, 0))
    }

    @Test("A window of a package is as wide as it states; windows that show nothing are none")
    func windows() {
        #expect(PictureWindow(center: 40, width: 400) == .fixed(lower: -160, upper: 240))
        #expect(PictureWindow(center: 40, width: 0) == nil)
        #expect(PictureWindow(center: .nan, width: 100) == nil)
        #expect(PictureWindow(center: 0, width: 1) != nil)
        #expect(PictureWindow(lower: 0, upper: 0) == nil)
        #expect(PictureWindow(lower: 5, upper: 2) == nil)
        #expect(PictureWindow(lower: -1, upper: .infinity) == nil)
        #expect(PictureWindow(lower: -1, upper: 3) == .fixed(lower: -1, upper: 3))
    }
}
