import NocturneConcurrency
import NocturneCore
import NocturnePictures
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Pictures of bodies whose pictures are known")
struct AnalyticPictureTests {
    static let orange = SIMD3<UInt8>(200, 120, 40)

    /// A ball of label 1 around the middle of a grid, and an image made of indices.
    static func ball(
        _ shape: VolumeShape,
        spacing: SIMD3<Double>,
        radius: Double,
        value: (Int, Int, Int) -> Float = { _, _, _ in 0 }
    ) throws -> Preview {
        var image = try VoxelBuffer<Float>(count: shape.count)
        var labels = try VoxelBuffer<UInt16>(count: shape.count)
        var boxes: [VoxelBox] = []
        let half = SIMD3(Double(shape.x), Double(shape.y), Double(shape.z)) / 2
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x {
                    let place = shape.offset(i, j, k)
                    image[place] = value(i, j, k)
                    let away = (SIMD3(Double(i), Double(j), Double(k)) + 0.5 - half) * spacing
                    guard length(away) <= radius else { continue }
                    labels[place] = 1
                    boxes.append(VoxelBox(lower: SIMD3(i, j, k), upper: SIMD3(i + 1, j + 1, k + 1)))
                }
            }
        }
        let geometry = VolumeGeometry(shape: shape, affine: .scaling(spacing))
        return Preview(
            volume: Volume(geometry: geometry, voxels: image.frozen()),
            labels: LabelVolume(geometry: geometry, voxels: labels.frozen()),
            colors: [1: orange],
            window: .fixed(lower: 0, upper: 1000),
            labelled: VoxelBox(around: boxes)
        )
    }

    /// The smallest box around what has a colour, in the given columns and rows.
    static func extent(_ image: RGBImage, _ columns: Range<Int>, _ rows: Range<Int>) -> (width: Int, height: Int) {
        var (left, right, top, bottom) = (Int.max, -1, Int.max, -1)
        for y in rows {
            for x in columns where image[x, y].x != image[x, y].z {
                (left, right) = (min(left, x), max(right, x))
                (top, bottom) = (min(top, y), max(bottom, y))
            }
        }
        return (right - left + 1, bottom - top + 1)
    }

    @Test("The area of a label is blended by its opacity, its outline is opaque", arguments: [0, 0.25, 1])
    func areas(_ opacity: Double) throws {
        var preview = try Self.ball(VolumeShape(x: 64, y: 64, z: 64), spacing: SIMD3(1, 1, 1), radius: 20) { _, _, _ in
            500
        }
        preview.labelOpacity = opacity
        let image = try preview.drawing(scope: .serial()).image
        // The middle of the axial slice, which has 256 pixels beside the margin; and a corner without label.
        let margin = (image.height / 2 - 256) / 2
        let (grey, middle) = (image[margin + 4, margin + 4], image[margin + 128, margin + 128])
        #expect(grey == SIMD3(repeating: 128))
        for channel in 0..<3 {
            let expected = Double(128) * (1 - opacity) + Double(Self.orange[channel]) * opacity
            #expect(abs(Double(middle[channel]) - expected) <= 1)
        }
        let row = (0..<256).map { image[margin + $0, margin + 128] }
        #expect(row.first { $0 != grey } == Self.orange)
    }

    /// 128 mm along every axis take 256 pixels; the voxels' borders lie where the ball's ends do.
    @Test("A ball in voxels of 0.5, 1 and 2 mm is as high as it is wide in every panel")
    func aspect() throws {
        let preview = try Self.ball(VolumeShape(x: 256, y: 128, z: 64), spacing: SIMD3(0.5, 1, 2), radius: 60)
        let image = try preview.drawing(scope: .serial()).image
        for panel in 0..<3 {
            for row in 0..<2 {
                let x = 20 + panel * 296
                let y = 20 + row * 296
                let found = Self.extent(image, x..<x + 256, y..<y + 256)
                #expect(
                    abs(found.width - 240) <= 1 && abs(found.height - 240) <= 1,
                    "panel \(panel), row \(row): \(found)"
                )
            }
        }
        // 121.5 mm of voxels and of what is around them take 384 pixels.
        let surface = Self.extent(image, 3 * 296 + 20..<image.width - 20, 60..<image.height - 60)
        #expect(abs(surface.width - 379) <= 3 && abs(surface.height - 379) <= 3, "\(surface)")
    }

    @Test("Projections show the largest voxel of every line, past what is not a number")
    func maxima() throws {
        let shape = VolumeShape(x: 256, y: 70, z: 41)
        var generator = SplitMix64(seed: 11)
        var values: [Float] = []
        for _ in 0..<shape.count {
            let bits = generator.next()
            // One line in many has a bright voxel, so that maxima differ.
            values.append(bits % 97 == 0 ? .nan : Float(bits >> 40) / Float(1 << 24) * (bits % 193 == 0 ? 1000 : 300))
        }
        for i in 0..<shape.x { values[shape.offset(i, 7, 9)] = -.infinity }
        for k in 0..<shape.z { values[shape.offset(100, 50, k)] = .nan }
        let preview = try Self.ball(shape, spacing: SIMD3(1, 1, 1), radius: 0) { values[shape.offset($0, $1, $2)] }
        let image = try preview.drawing(scope: .serial()).image
        func grey(_ lines: [Float]) -> UInt8 {
            let largest = lines.filter { !$0.isNaN }.max() ?? 0
            return largest > 0 ? UInt8((Double(min(largest, 1000)) * 0.255).rounded()) : 0
        }
        // Columns begin at the right end of each axis, rows at its end: one pixel a voxel. Rows of 70, 41 and 41 pixels.
        let (x, y, z) = (shape.x, shape.y, shape.z)
        let rowHeight = 70
        func check(_ left: Int, _ columns: Int, _ rows: Int, _ line: (Int, Int) -> [Float]) {
            let top = rowHeight + 60 + (rowHeight - rows) / 2
            var wrong = 0
            for row in 0..<rows {
                for column in 0..<columns
                where image[left + column, top + row].x != grey(line(columns - 1 - column, rows - 1 - row)) {
                    wrong += 1
                }
            }
            #expect(wrong == 0)
        }
        check(20, x, y) { i, j in (0..<z).map { values[shape.offset(i, j, $0)] } }
        check(20 + x + 40, x, z) { i, k in (0..<y).map { values[shape.offset(i, $0, k)] } }
        check(20 + 2 * (x + 40), y, z) { j, k in (0..<x).map { values[shape.offset($0, j, k)] } }
    }

    /// Phong's model, written down again. Voxels of 2 mm leave steps of a few of the 255 levels.
    static func shade(_ normal: SIMD3<Double>, depth: Double) -> SIMD3<Double> {
        let lightDirection = SIMD3(0.45, 1, 0.6) / length(SIMD3(0.45, 1, 0.6))
        let half = (lightDirection + SIMD3(0, 1, 0)) / length(lightDirection + SIMD3(0, 1, 0))
        var specularTerm = max(0, dot(normal, half))
        for _ in 0..<5 { specularTerm *= specularTerm }
        let lit =
            SIMD3(200, 120, 40) * (0.22 + 0.78 * max(0, dot(normal, lightDirection)))
            + SIMD3(repeating: 255 * 0.25 * specularTerm)
        return (lit * (1 - 0.3 * depth)).clamped(lowerBound: .zero, upperBound: SIMD3(repeating: 255))
    }

    @Test("A ball is lit as its normals say", arguments: [SIMD3(0.8, 0.8, 0.8), SIMD3(1, 0.7, 2)])
    func shading(spacing: SIMD3<Double>) throws {
        let radius = 30.0
        let sizes = (0..<3).map { Int(66 / spacing[$0]) / 2 * 2 }
        let preview = try Self.ball(
            VolumeShape(x: sizes[0], y: sizes[1], z: sizes[2]),
            spacing: spacing,
            radius: radius
        )
        let image = try preview.drawing(scope: .serial()).image
        let box = try #require(preview.labelled)
        let pixels = min(
            384 / ((Double(box.upper.x - box.lower.x) + 3) * spacing.x),
            Double(image.height - 40) / ((Double(box.upper.z - box.lower.z) + 3) * spacing.z)
        )
        let width = ((Double(box.upper.x - box.lower.x) + 3) * spacing.x * pixels).rounded()
        let middle = (x: Double(image.width) - 20 - width / 2, y: Double(image.height) / 2)
        for (right, up) in [(0.0, 0.0), (0.4, 0), (-0.4, 0), (0, 0.5), (0.3, -0.5), (-0.5, -0.4)] {
            let normal = SIMD3(right, (1 - right * right - up * up).squareRoot(), up)
            let expected = Self.shade(normal, depth: (1 - normal.y) / 2)
            // The patient's right is on the left.
            let found = image[
                Int(middle.x - right * radius * pixels),
                Int(middle.y - up * radius * pixels)
            ]
            for channel in 0..<3 {
                #expect(
                    abs(Double(found[channel]) - expected[channel]) <= 12,
                    "at \(right), \(up): \(found), \(expected)"
                )
            }
        }
    }

    @Test("The same bytes for any number of threads")
    func threads() async throws {
        let preview = try Self.ball(VolumeShape(x: 300, y: 90, z: 110), spacing: SIMD3(1, 1.2, 1.5), radius: 40) {
            Float(($0 * 37 + $1 * 91 + $2 * 53) % 1100)
        }
        let serial = try preview.drawing(scope: .serial()).image
        let images = try await resultsForWidths { try preview.drawing(scope: $0).image }
        for image in images { #expect(image == serial) }
    }

    @Test("A raised flag stops the drawing")
    func cancellation() throws {
        let preview = try Self.ball(VolumeShape(x: 20, y: 20, z: 20), spacing: SIMD3(1, 1, 1), radius: 6)
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) { try preview.drawing(scope: .serial(flag)) }
    }
}
