import Foundation
import NocturneConcurrency
import NocturneCore
import NocturnePictures
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Rendering of a volume")
struct VolumeRenderingTests {
    static let white = SIMD3<UInt8>(repeating: 255)

    /// A volume along R, A and S around the origin, of a function of the place in mm.
    static func volume(
        _ shape: VolumeShape,
        spacing: SIMD3<Double>,
        _ value: (SIMD3<Double>) -> Double
    ) throws -> Volume {
        var voxels = try VoxelBuffer<Float>(count: shape.count)
        let half = SIMD3(Double(shape.x), Double(shape.y), Double(shape.z)) / 2
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x {
                    let index = SIMD3(Double(i), Double(j), Double(k)) + 0.5
                    voxels[shape.offset(i, j, k)] = Float(value((index - half) * spacing))
                }
            }
        }
        return Volume(geometry: VolumeGeometry(shape: shape, affine: .scaling(spacing)), voxels: voxels.frozen())
    }

    /// Nothing below 500, and hardly any light passes above.
    static let solid = TransferFunction(
        [
            .init(0, white, extinction: 0), .init(499, white, extinction: 0), .init(501, white, extinction: 50),
            .init(1000, white, extinction: 50),
        ],
        surfaceGradient: 10
    )

    @Test(
        "The silhouette of a ball has its radius in mm from every side",
        arguments: [
            (VolumeShape(x: 80, y: 54, z: 40), SIMD3(1, 1.5, 2.0)),
            // Two voxels along R become one.
            (VolumeShape(x: 268, y: 66, z: 56), SIMD3(0.3, 1.2, 1.4)),
        ]
    )
    func silhouette(shape: VolumeShape, spacing: SIMD3<Double>) throws {
        let radius = 30.0
        // 500 at the radius, and smooth over some voxels.
        let volume = try Self.volume(shape, spacing: spacing) { 500 + min(max(100 * (radius - length($0)), -500), 500) }
        let rendering = try VolumeRendering(volume, function: Self.solid, scope: .serial())
        for angle in [0.0, 35, 90, 200] {
            let picture = try rendering.picture(from: angle, scope: .serial())
            let pixels = picture.opacities.count { $0 > 127 }
            let found = (Double(pixels) / .pi).squareRoot() * picture.millimetresPerPixel
            #expect(abs(found - radius) < 0.2, "\(found) mm at \(angle)°")
            let columns = picture.opacities.indices.filter { picture.opacities[$0] > 127 }.map {
                $0 % picture.image.width
            }
            let width = Double((columns.max() ?? 0) - (columns.min() ?? 0) + 1) * picture.millimetresPerPixel
            #expect(abs(width - 2 * radius) < 0.6, "\(width) mm at \(angle)°")
        }
    }

    @Test("A layer is as opaque as Beer and Lambert's law says, whatever the voxels", arguments: [0.5, 1, 2, 4])
    func opacity(spacing: Double) throws {
        let (thickness, extinction) = (16.0, 0.04)
        let function = TransferFunction(
            [.init(0, Self.white, extinction: 0), .init(1000, Self.white, extinction: extinction)],
            surfaceGradient: 10
        )
        let shape = VolumeShape(x: 120, y: Int(40 / spacing), z: 8)
        let volume = try Self.volume(shape, spacing: SIMD3(1, spacing, 1)) { abs($0.y) < thickness / 2 ? 1000 : 0 }
        let rendering = try VolumeRendering(volume, function: function, scope: .serial())
        for (angle, path) in [(0.0, thickness), (180, thickness), (60, 2 * thickness)] {
            let picture = try rendering.picture(from: angle, scope: .serial())
            let middle = picture.image.width / 2 + picture.image.width * (picture.image.height / 2)
            let found = Double(picture.opacities[middle]) / 255
            #expect(abs(found - (1 - exp(-extinction * path))) < 0.012, "\(found) at \(angle)°")
        }
    }

    @Test("Right and left, front and back, above and below are where they belong, and the nearer hides the farther")
    func placement() throws {
        let shape = VolumeShape(x: 40, y: 36, z: 32)
        var voxels = try VoxelBuffer<Float>(count: shape.count)
        var labels = try VoxelBuffer<UInt16>(count: shape.count)
        // Red at the right, in front and above; green at the left, behind and below; blue behind red.
        let boxes: [(label: UInt16, x: Range<Int>, y: Range<Int>, z: Range<Int>)] = [
            (1, 26..<36, 24..<34, 20..<30), (2, 4..<14, 2..<12, 2..<12), (3, 26..<36, 4..<14, 20..<30),
        ]
        for box in boxes {
            for z in box.z {
                for y in box.y {
                    for x in box.x {
                        voxels[shape.offset(x, y, z)] = 1000
                        labels[shape.offset(x, y, z)] = box.label
                    }
                }
            }
        }
        let geometry = VolumeGeometry(shape: shape, affine: .scaling(SIMD3(1, 1, 1)))
        let rendering = try VolumeRendering(
            Volume(geometry: geometry, voxels: voxels.frozen()),
            labels: LabelVolume(geometry: geometry, voxels: labels.frozen()),
            colors: [1: SIMD3(250, 0, 0), 2: SIMD3(0, 250, 0), 3: SIMD3(0, 0, 250)],
            function: Self.solid,
            scope: .serial()
        )
        /// Mean column and row of a colour's pixels; nil if it cannot be seen.
        func middle(_ channel: Int, _ image: RGBImage) -> SIMD2<Double>? {
            var (sum, count) = (SIMD2<Double>.zero, 0.0)
            for y in 0..<image.height {
                for x in 0..<image.width {
                    let pixel = image[x, y]
                    guard (0..<3).allSatisfy({ $0 == channel || Int(pixel[channel]) > Int(pixel[$0]) + 60 }) else {
                        continue
                    }
                    sum += SIMD2(Double(x), Double(y))
                    count += 1
                }
            }
            return count > 20 ? sum / count : nil
        }
        let front = try rendering.picture(from: 0, scope: .serial()).image
        let (red, green) = (try #require(middle(0, front)), try #require(middle(1, front)))
        #expect(red.x < green.x && red.y < green.y)
        #expect(middle(2, front) == nil)
        let left = try rendering.picture(from: 90, scope: .serial()).image
        let (before, behind) = (try #require(middle(0, left)), try #require(middle(2, left)))
        #expect(before.x < behind.x && abs(before.y - behind.y) < 2)
        let back = try rendering.picture(from: 180, scope: .serial()).image
        #expect(middle(0, back) == nil)
        #expect(try #require(middle(1, back)).x < #require(middle(2, back)).x)
        // Half a turn later the first frame's left is the right.
        let (first, half) = (rendering.frame(0), rendering.frame(VolumeRendering.frameCount / 2))
        #expect(try #require(middle(0, first)).x < Double(first.width) / 2)
        #expect(try #require(middle(2, half)).x > Double(half.width) / 2)
        #expect(first.width == rendering.frameSize.width && max(first.width, first.height) <= 512)
    }

    @Test("A label is seen behind a wall, which hides a third of it, and through another label")
    func labels() throws {
        let shape = VolumeShape(x: 40, y: 40, z: 40)
        let volume = try Self.volume(shape, spacing: SIMD3(1, 1, 1)) { $0.y > 10 ? 1000 : 0 }
        var map = try VoxelBuffer<UInt16>(count: shape.count)
        for z in 14..<26 {
            for y in 4..<16 {
                for x in 14..<26 { map[shape.offset(x, y, z)] = y < 10 ? 2 : 1 }
            }
        }
        let labels = LabelVolume(geometry: volume.geometry, voxels: map.frozen())
        func picture(_ function: TransferFunction) throws -> VolumeRendering.Picture {
            try VolumeRendering(
                volume,
                labels: labels,
                colors: [1: SIMD3(200, 0, 0), 2: SIMD3(0, 200, 0)],
                function: function,
                scope: .serial()
            ).picture(from: 0, scope: .serial())
        }
        let alone = try picture(.invisible)
        let middle = alone.image.width / 2 + alone.image.width * (alone.image.height / 2)
        #expect(abs(Int(alone.opacities[middle]) - 239) < 3, "two surfaces that let a quarter pass")
        let (red, green) = (Int(alone.image.samples[3 * middle]), Int(alone.image.samples[3 * middle + 1]))
        #expect(red > 2 * green && green > 20)
        let walled = try picture(Self.solid)
        let (x, y) = (walled.image.width / 2, walled.image.height / 2)
        let (seen, wall) = (walled.image[x, y], walled.image[2, 2])
        #expect(wall.x == wall.y && wall.x > 150)
        #expect(abs(Int(seen.x) - Int(0.35 * Double(wall.x) + 0.65 * Double(red))) < 6, "\(seen)")
        #expect(walled.opacities.allSatisfy { $0 > 240 })
    }

    /// A body of noise, described along R, A and S and stored in another order, turned a little in the patient.
    static func noise(source: [Int] = [0, 1, 2], reversed: [Bool] = [false, false, false]) throws -> (
        Volume, LabelVolume
    ) {
        // Two voxels along R become one, and one is left over.
        let canonical = VolumeShape(x: 261, y: 13, z: 10)
        let spacing = SIMD3(0.7, 3, 4.5)
        let orientation = AxisOrientation(source: source, reversed: reversed)
        let geometry = orientation.stored(canonical, spacing: spacing, angle: 0.2)
        let shape = geometry.shape
        var image = try VoxelBuffer<Float>(count: shape.count)
        var labels = try VoxelBuffer<UInt16>(count: shape.count)
        var generator = SplitMix64(seed: 3)
        for z in 0..<canonical.z {
            for y in 0..<canonical.y {
                for x in 0..<canonical.x {
                    let bits = generator.next()
                    let (i, j, k) = orientation.storedIndex(of: (x, y, z), in: shape)
                    image[shape.offset(i, j, k)] = bits % 50 == 0 ? .nan : Float(bits % 9000) / 7
                    labels[shape.offset(i, j, k)] = UInt16(x / 40 % 3)
                }
            }
        }
        return (
            Volume(geometry: geometry, voxels: image.frozen()), LabelVolume(geometry: geometry, voxels: labels.frozen())
        )
    }

    static func rendering(_ volume: Volume, _ labels: LabelVolume, _ scope: ComputeScope) throws -> VolumeRendering {
        try VolumeRendering(
            volume,
            labels: labels,
            colors: [1: SIMD3(200, 120, 40), 2: SIMD3(10, 120, 240)],
            function: RenderingPreset.mr.transferFunction(for: volume),
            scope: scope
        )
    }

    static func frame(_ volume: Volume, _ labels: LabelVolume) throws -> RGBImage {
        try rendering(volume, labels, .serial()).frame(4)
    }

    @Test("The same voxels stored in any order give the same bytes")
    func orders() throws {
        let (volume, labels) = try Self.noise()
        let expected = try Self.frame(volume, labels)
        #expect(Set(expected.samples).count > 100)
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
        for (number, source) in orders.enumerated() {
            // Each axis in both directions for every order of axes, and all eight combinations over the orders.
            for flips in [number, 7 - number] {
                let reversed = (0..<3).map { flips >> $0 & 1 == 1 }
                let (volume, labels) = try Self.noise(source: source, reversed: reversed)
                #expect(try Self.frame(volume, labels) == expected, "\(source) \(reversed)")
            }
        }
    }

    @Test("The same bytes for any number of threads")
    func threads() async throws {
        let (volume, labels) = try Self.noise()
        let serial = try Self.rendering(volume, labels, .serial()).still(scope: .serial())
        let images = try await resultsForWidths([1, 2, 3]) {
            try Self.rendering(volume, labels, $0).still(scope: $0)
        }
        for image in images { #expect(image == serial) }
    }

    @Test("Intensities without a unit: the picture of an MR image does not depend on their scale")
    func percentiles() throws {
        func ball(_ factor: Double) throws -> RGBImage {
            let volume = try Self.volume(VolumeShape(x: 30, y: 30, z: 30), spacing: SIMD3(2, 2, 2)) {
                (length($0) < 22 ? 300 + $0.x : 5 + abs($0.y) / 8) * factor
            }
            let function = RenderingPreset.mr.transferFunction(for: volume)
            return try VolumeRendering(volume, function: function, scope: .serial()).still(scope: .serial())
        }
        let image = try ball(1)
        #expect(try image == ball(16))
        #expect(image.samples.max() ?? 0 > 150)
    }

    @Test("Soft tissue is invisible among bones, and a volume in which nothing is visible is black but for its letters")
    func invisible() throws {
        let volume = try Self.volume(VolumeShape(x: 20, y: 20, z: 20), spacing: SIMD3(1, 1, 1)) {
            length($0) < 8 ? 60 : -1000
        }
        for (preset, isVisible) in [(RenderingPreset.ctBone, false), (.ctSoftTissue, true)] {
            let function = preset.transferFunction(for: volume)
            let rendering = try VolumeRendering(volume, function: function, scope: .serial())
            let picture = try rendering.picture(from: 0, scope: .serial())
            #expect(picture.opacities.contains { $0 > 100 } == isVisible)
        }
        let nothing = try Self.volume(VolumeShape(x: 5, y: 1, z: 3), spacing: SIMD3(1, 1, 1)) { _ in .nan }
        for preset in RenderingPreset.allCases {
            let function = preset.transferFunction(for: nothing)
            let rendering = try VolumeRendering(nothing, function: function, scope: .serial())
            #expect(try rendering.picture(from: 30, scope: .serial()).opacities.allSatisfy { $0 == 0 })
        }
    }

    @Test(
        "Absurd spacings make a picture, if no good one",
        arguments: [SIMD3(1e-9, 1, 1), SIMD3(1, 1e12, 1), SIMD3(1e-300, 1, 1e200), SIMD3(0, 0, 0), SIMD3(1, .nan, 1)]
    )
    func absurd(spacing: SIMD3<Double>) throws {
        let made = try Self.volume(VolumeShape(x: 7, y: 6, z: 5), spacing: SIMD3(1, 1, 1)) { 600 + 100 * $0.x }
        let geometry = VolumeGeometry(shape: made.geometry.shape, affine: .scaling(spacing))
        let volume = Volume(geometry: geometry, voxels: made.voxels)
        let rendering = try VolumeRendering(volume, function: Self.solid, scope: .serial())
        let image = try rendering.still(scope: .serial())
        #expect((1...1100).contains(image.width) && (1...560).contains(image.height))
        #expect((1...512).contains(rendering.frame(7).width))
    }

    @Test("A raised flag stops the reduction, and the drawing")
    func cancellation() throws {
        let (volume, _) = try Self.noise()
        let flag = CancellationFlag()
        let rendering = try VolumeRendering(volume, function: Self.solid, scope: .serial(flag))
        flag.cancel()
        #expect(throws: CancelledError.self) { try rendering.still(scope: .serial(flag)) }
        #expect(throws: CancelledError.self) {
            _ = try VolumeRendering(volume, function: Self.solid, scope: .serial(flag))
        }
    }
}
