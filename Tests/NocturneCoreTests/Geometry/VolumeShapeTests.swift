import NocturneCore
import Testing

@Suite("VolumeShape")
struct VolumeShapeTests {
    @Test("offsets run through the volume with i fastest")
    func offsets() {
        let shape = VolumeShape(x: 3, y: 4, z: 5)
        var expected = 0
        for k in 0..<5 {
            for j in 0..<4 {
                for i in 0..<3 {
                    #expect(shape.offset(i, j, k) == expected)
                    expected += 1
                }
            }
        }
        #expect(shape.count == expected && shape.sliceCount == 12 && shape.description == "3×4×5")
    }

    @Test("axes are read and written by number")
    func axes() {
        var shape = VolumeShape(x: 3, y: 4, z: 5)
        #expect((0..<3).map { shape[$0] } == [3, 4, 5])
        for axis in 0..<3 { shape[axis] = axis + 10 }
        #expect(shape == VolumeShape(x: 10, y: 11, z: 12))
    }

    @Test("numbers from a file are refused when they cannot be a volume")
    func validating() {
        #expect(VolumeShape(validating: 512, y: 512, z: 300) == VolumeShape(x: 512, y: 512, z: 300))
        #expect(VolumeShape(validating: 2048, y: 2048, z: 2048)?.count == VolumeShape.maximumCount)
        #expect(VolumeShape(validating: 2048, y: 2048, z: 2049) == nil)
        #expect(VolumeShape(validating: 10, y: 10, z: 10, limit: 999) == nil)
        #expect(VolumeShape(validating: 10, y: 10, z: 10, limit: 1000) != nil)
        for bad in [0, -1, Int.min] {
            #expect(VolumeShape(validating: bad, y: 1, z: 1) == nil)
            #expect(VolumeShape(validating: 1, y: bad, z: 1) == nil)
            #expect(VolumeShape(validating: 1, y: 1, z: bad) == nil)
        }
        // Products that overflow, also to something small.
        #expect(VolumeShape(validating: Int.max, y: 2, z: 1) == nil)
        #expect(VolumeShape(validating: Int.max, y: Int.max, z: Int.max) == nil)
        #expect(VolumeShape(validating: 1 << 32, y: 1 << 32, z: 1) == nil)
        #expect(VolumeShape(validating: 1 << 31, y: 1 << 31, z: 4) == nil)
        #expect(VolumeShape(validating: 1 << 32, y: 1, z: 1 << 32) == nil)
    }
}
