import NocturneConcurrency
import NocturneCore
import NocturnePictures
import NocturneTestSupport
import Testing

@Suite("A volume without labels")
struct UnlabelledVolumeTests {
    private let volume: Volume
    private let none: LabelVolume

    init() throws {
        let shape = VolumeShape(x: 20, y: 14, z: 10)
        let voxels: VoxelBuffer<Float> = try Phantom.voxels(shape) { i, j, k in Float(i * 7 + j * 3 + k) }
        let geometry = VolumeGeometry(shape: shape, affine: .scaling(SIMD3(1, 1.5, 2)))
        volume = Volume(geometry: geometry, voxels: voxels.frozen())
        none = LabelVolume(geometry: geometry, voxels: try VoxelBuffer<UInt16>(count: shape.count).frozen())
    }

    private func preview(_ labels: LabelVolume?, _ window: PictureWindow = .percentiles) -> Preview {
        Preview(volume: volume, labels: labels, colors: [1: SIMD3(255, 0, 0)], window: window, labelled: nil)
    }

    @Test("is drawn like one of which no voxel has a label: slices, projections, animation and reduced volume")
    func pictures() throws {
        let (own, other) = (preview(nil), preview(none))
        #expect(try own.drawing(scope: .serial()).image == other.drawing(scope: .serial()).image)
        for plane in [nil] + SliceStrip.Plane.allCases.map(Optional.some) {
            let strips = (SliceStrip(own, plane: plane), SliceStrip(other, plane: plane))
            #expect(strips.0.palette == strips.1.palette && strips.0.frameCount == strips.1.frameCount)
            #expect((0..<strips.0.frameCount).allSatisfy { strips.0.frame($0) == strips.1.frame($0) })
        }
        let window = PictureWindow.fixed(lower: 0, upper: 200)
        let reduced = try ReducedVolume(volume, labels: nil, window: window, scope: .serial())
        let expected = try ReducedVolume(volume, labels: none, window: window, scope: .serial())
        let count = reduced.geometry.shape.count
        #expect((0..<count).allSatisfy { reduced.greys[$0] == expected.greys[$0] && reduced.labels[$0] == 0 })
    }

    @Test("states the intensities that its slices show as black and as white")
    func range() {
        let fixed = preview(nil, .fixed(lower: -3, upper: 40)).shownRange
        #expect(fixed.lower == -3 && fixed.upper == 40)
        let found = preview(nil).shownRange
        // Of the three slices through the middle, all of whose voxels are read.
        var values: [Int] = []
        for i in 0..<20 { for j in 0..<14 { values.append(i * 7 + j * 3 + 5) } }
        for i in 0..<20 { for k in 0..<10 { values.append(i * 7 + 7 * 3 + k) } }
        for j in 0..<14 { for k in 0..<10 { values.append(10 * 7 + j * 3 + k) } }
        values.sort()
        let cut = Int((Double(values.count - 1) * 0.005).rounded())
        #expect(found.lower == Double(values[cut]) && found.upper == Double(values[values.count - 1 - cut]))
    }
}
