import Foundation
import NocturneConcurrency
import NocturneCore
import NocturnePictures
import NocturneSystem
import NocturneTestSupport
import Testing

extension AxisOrientation {
    /// The grid of a body described in the canonical (R, A, S) grid and turned about the z axis, as it is stored.
    func stored(_ canonical: VolumeShape, spacing: SIMD3<Double>, angle: Double) -> VolumeGeometry {
        var shape = canonical
        var columns = [SIMD3<Double>](repeating: .zero, count: 3)
        for axis in 0..<3 {
            shape[source[axis]] = canonical[axis]
            var direction = SIMD3<Double>.zero
            direction[axis] = reversed[axis] ? -spacing[axis] : spacing[axis]
            columns[source[axis]] = SIMD3(
                direction.x * cos(angle) - direction.y * sin(angle),
                direction.x * sin(angle) + direction.y * cos(angle),
                direction.z
            )
        }
        return VolumeGeometry(
            shape: shape,
            affine: Affine(columnI: columns[0], columnJ: columns[1], columnK: columns[2], translation: SIMD3(3, -40, 7))
        )
    }
}

@Suite("The preview of a volume")
struct PreviewTests {
    static let red = SIMD3<UInt8>(255, 0, 0)
    static let green = SIMD3<UInt8>(0, 255, 0)
    static let colors: [UInt16: SIMD3<UInt8>] = [1: red, 2: green]

    /// A body described in the canonical (R, A, S) grid, stored in another order.
    static func preview(
        canonical: VolumeShape = VolumeShape(x: 20, y: 16, z: 12),
        spacing: SIMD3<Double> = SIMD3(1, 1.5, 2.5),
        source: [Int] = [0, 1, 2],
        reversed: [Bool] = [false, false, false],
        angle: Double = 0,
        window: PictureWindow = .fixed(lower: 0, upper: 400),
        boxes: [(value: UInt16, lower: SIMD3<Int>, upper: SIMD3<Int>)] = [
            (1, SIMD3(12, 3, 2), SIMD3(18, 9, 8)), (2, SIMD3(3, 8, 4), SIMD3(7, 13, 10)),
        ]
    ) throws -> RGBImage {
        let orientation = AxisOrientation(source: source, reversed: reversed)
        let geometry = orientation.stored(canonical, spacing: spacing, angle: angle)
        let shape = geometry.shape
        var image = try VoxelBuffer<Float>(count: shape.count)
        var labels = try VoxelBuffer<UInt16>(count: shape.count)
        var labelled: [VoxelBox] = []
        for z in 0..<canonical.z {
            for y in 0..<canonical.y {
                for x in 0..<canonical.x {
                    let (i, j, k) = orientation.storedIndex(of: (x, y, z), in: shape)
                    image[shape.offset(i, j, k)] = Float(x * 10 + y * 7 + z * 5)
                    for box in boxes
                    where (0..<3).allSatisfy({ (box.lower[$0]..<box.upper[$0]).contains([x, y, z][$0]) }) {
                        labels[shape.offset(i, j, k)] = box.value
                        let here = SIMD3(i, j, k)
                        labelled.append(VoxelBox(lower: here, upper: here &+ 1))
                    }
                }
            }
        }
        return try Preview(
            volume: Volume(geometry: geometry, voxels: image.frozen()),
            labels: LabelVolume(geometry: geometry, voxels: labels.frozen()),
            colors: colors,
            window: window,
            labelled: VoxelBox(around: labelled)
        ).drawing(scope: .serial()).image
    }

    /// Mean column and row of a colour, also where it covers a part of a pixel, among the columns of `range` in the upper half, the
    /// slices; nil when it is not there.
    static func middle(_ color: SIMD3<UInt8>, _ image: RGBImage, _ range: Range<Int>) -> (x: Double, y: Double)? {
        var sum = (x: 0, y: 0, count: 0)
        for y in 0..<image.height / 2 {
            for x in range where Self.isNear(image[x, y], color) { sum = (sum.x + x, sum.y + y, sum.count + 1) }
        }
        return sum.count == 0
            ? nil : (Double(sum.x) / Double(sum.count), Double(sum.y) / Double(sum.count))
    }

    private static func isNear(_ pixel: SIMD3<UInt8>, _ color: SIMD3<UInt8>) -> Bool {
        let excess = Int(pixel.x) - Int(pixel.y)
        return color == red ? excess > 60 : excess < -60
    }

    private static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

    @Test("However a volume is stored, its preview is the same")
    func anyOrientation() throws {
        let plain = try Self.preview()
        let percentiles = try Self.preview(window: .percentiles)
        for (number, source) in Self.orders.enumerated() {
            // Each axis in both directions for every order of axes, and all eight combinations over the orders.
            for signs in [number, 7 - number] {
                let reversed = (0..<3).map { signs >> $0 & 1 == 1 }
                #expect(try Self.preview(source: source, reversed: reversed) == plain, "\(source) \(reversed)")
            }
            let oblique = try Self.preview(
                source: source,
                reversed: [true, false, true],
                angle: 0.3,
                window: .percentiles
            )
            #expect(oblique == percentiles, "\(source)")
        }
    }

    @Test("Absurd spacings make a picture, if no good one", arguments: [0, 1, 2])
    func absurdSpacing(thick: Int) throws {
        var spacing = SIMD3<Double>(repeating: 1e-7)
        spacing[thick] = 1e15
        let image = try Self.preview(spacing: spacing)
        #expect(image.width > 40 && image.height > 40)
    }

    /// Margins of 20 pixels; the longest side is 30 mm (z), the scale 8 pixels a voxel of 1 mm: panels of 160×192,
    /// 160×240 and 192×240 pixels.
    @Test("Patient right is on the left, the front and the head are where radiologists expect them")
    func convention() throws {
        let image = try Self.preview()
        // On the right the labels' box, 15 by 8 voxels, with a voxel and a half around: 18 mm by 27.5 mm, 12 pixels a mm.
        #expect(image.width == 160 + 160 + 192 + 120 + 216 + 40)
        #expect(image.height == 560)
        let axial = 20..<180
        let coronal = 220..<380
        let sagittal = 420..<612
        // The red box is on the patient's right, further back and lower than the green one.
        for panel in [axial, coronal] {
            let centre = Double(panel.lowerBound + panel.upperBound) / 2
            let right = try #require(Self.middle(Self.red, image, panel))
            let left = try #require(Self.middle(Self.green, image, panel))
            #expect(right.x < centre && left.x > centre)
            #expect(right.y > left.y)
        }
        let back = try #require(
            Self.middle(Self.red, try Self.preview(boxes: [(1, SIMD3(2, 1, 1), SIMD3(9, 4, 4))]), sagittal)
        )
        #expect(back.x > 516 && back.y > 140)
        // Grey grows with x, y and z, so away from the outlines towards the upper left corner of each panel.
        let plain = try Self.preview(boxes: [])
        for (panel, height) in [(axial, 192), (coronal, 240), (sagittal, 240)] {
            let top = (280 - height) / 2
            let corner = plain[panel.lowerBound, top]
            #expect(corner.x == corner.y && corner.y == corner.z)
            #expect(corner.x > plain[panel.upperBound - 1, top].x)
            #expect(corner.x > plain[panel.lowerBound, top + height - 1].x)
        }
    }

    @Test("An outline is one pixel wide and encloses the label at its size in millimetres")
    func outline() throws {
        let image = try Self.preview(boxes: [(1, SIMD3(5, 4, 3), SIMD3(15, 12, 9))])
        // 10 voxels of 8 pixels across, 8 voxels of 12 down, in the axial panel (24 pixels lower than the coronal one).
        let across = (20..<180).filter { image[$0, 140] == Self.red }
        let down = (20..<260).filter { image[100, $0] == Self.red }
        #expect(across == [60, 139])
        #expect(down == [92, 187])
    }

    @Test("Thick slices keep their height")
    func aspect() throws {
        let shape = VolumeShape(x: 64, y: 48, z: 16)
        let image = try Self.preview(canonical: shape, spacing: SIMD3(1, 1, 5), boxes: [])
        // 80 mm take 256 pixels: 64 mm take 205, 48 mm 154.
        #expect(image.height == 2 * (256 + 40))
        #expect(image.width == 205 + 205 + 154 + 120)
    }

    /// Slices of 64 by 48 mm at 4 pixels a mm, 30 mm high together.
    @Test("Few thick slices become a mosaic of those with labels, from the feet, each with its position")
    func mosaic() throws {
        let shape = VolumeShape(x: 64, y: 48, z: 6)
        let all = try Self.preview(canonical: shape, spacing: SIMD3(1, 1, 5), boxes: [])
        #expect(all.width == 4 * 296 && all.height == 2 * 232)
        let boxes = [(UInt16(1), SIMD3(8, 8, 1), SIMD3(24, 24, 4)), (2, SIMD3(40, 8, 3), SIMD3(56, 24, 4))]
        let some = try Self.preview(canonical: shape, spacing: SIMD3(1, 1, 5), boxes: boxes)
        #expect(some.width == 3 * 296 && some.height == 232)
        let coloured = (0..<3).map { slice in
            let columns = 296 * slice..<296 * (slice + 1)
            return [Self.red, Self.green].map { color in
                columns.contains { x in (0..<some.height).contains { some[x, $0] == color } }
            }
        }
        #expect(coloured == [[true, false], [true, false], [true, true]])
    }

    @Test("A slanted border is drawn without the steps of its voxels")
    func smoothBorder() throws {
        // Stairs of one voxel, 8 pixels: the outline is within a quarter of a voxel of the straight line, that of the voxels a third away.
        let steps = (0..<12).map { (UInt16(1), SIMD3(4 + $0, 0, 0), SIMD3(16, $0 + 1, 12)) }
        let image = try Self.preview(canonical: VolumeShape(x: 16, y: 16, z: 12), spacing: SIMD3(1, 1, 1), boxes: steps)
        var farthest = 0.0
        for y in 20 + 48..<20 + 100 {
            // The border is on the right of the label, which is on the left.
            guard let x = (20..<148).last(where: { Self.isNear(image[$0, y], Self.red) }) else { continue }
            let place = SIMD2(16 - (Double(x) + 0.5 - 20) / 8, 16 - (Double(y) + 0.5 - 20) / 8)
            farthest = max(farthest, abs(place.x - place.y - 3.5) / 2.squareRoot())
        }
        #expect(farthest > 0 && farthest < 0.25)
    }

    @Test("Slices show labels where the middle between them shows none; a small label counts, a single voxel hardly")
    func slicesWithLabels() throws {
        // Along a diagonal: the middle of both lies in none of them.
        let large = (UInt16(1), SIMD3(0, 0, 0), SIMD3(6, 5, 4))
        let image = try Self.preview(boxes: [large, (2, SIMD3(14, 11, 9), SIMD3(15, 12, 10))])
        for panel in [20..<180, 220..<380, 420..<612] {
            #expect(Self.middle(Self.red, image, panel) != nil, "the large label in columns \(panel)")
        }
        // Another part of the large label, with a quarter of its voxels, and all of the small one are in the same axial slices.
        let both = try Self.preview(boxes: [
            large, (1, SIMD3(14, 11, 8), SIMD3(17, 14, 11)), (2, SIMD3(17, 11, 8), SIMD3(20, 14, 11)),
        ])
        #expect(Self.middle(Self.green, both, 20..<180) != nil)
        // Only a colour makes a label count.
        let uncoloured = try Self.preview(boxes: [
            (1, SIMD3(0, 0, 0), SIMD3(6, 5, 4)), (9, SIMD3(14, 11, 9), SIMD3(15, 12, 10)),
        ])
        for panel in [20..<180, 220..<380, 420..<612] {
            #expect(Self.middle(Self.red, uncoloured, panel) != nil, "the box in columns \(panel)")
        }
    }

    @Test("Without labels the slices through the middle are drawn, without colour")
    func noLabels() throws {
        let image = try Self.preview(boxes: [])
        let samples = image.samples
        let coloured = stride(from: 0, to: samples.count, by: 3).filter { samples[$0] != samples[$0 + 2] }
        #expect(coloured.isEmpty)
        // The middle of the axial panel: voxel (10, 8, 6), half a voxel from its neighbours below.
        let value: Double = 9.5 * 10 + 7.5 * 7 + 6 * 5
        let grey: Double = value * 255 / 400
        let drawn = Double(image[100, 140].x)
        #expect(abs(drawn - grey) <= 2)
    }

    @Test("Single voxels, single slices, constant images and values that are not numbers are drawn too")
    func oddities() throws {
        let single = VolumeShape(x: 1, y: 1, z: 1)
        let dot = try Self.preview(canonical: single, spacing: SIMD3(1, 1, 1), boxes: [])
        #expect(dot.width == 144)
        #expect(dot.height == 96)
        let flat = try Self.preview(canonical: VolumeShape(x: 300, y: 300, z: 1), window: .percentiles, boxes: [])
        #expect(flat.width <= 888)
        #expect(flat.height <= 592)
        let voxels = try FrozenVoxels<Float>([.nan, .infinity, -.infinity, 1, 1, 1, 1, .greatestFiniteMagnitude])
        let geometry = Phantom.geometry(VolumeShape(x: 2, y: 2, z: 2))
        let none = LabelVolume(geometry: geometry, voxels: try FrozenVoxels([UInt16](repeating: 0, count: 8)))
        for window in [PictureWindow.percentiles, .fixed(lower: 1, upper: 1), .fixed(lower: -1, upper: 2)] {
            let volume = Volume(geometry: geometry, voxels: voxels)
            let image = try Preview(volume: volume, labels: none, colors: [:], window: window, labelled: nil)
                .drawing(scope: .serial()).image
            #expect(image.width == 3 * 16 + 120)
        }
    }
}
