import NocturneCore
import NocturnePictures
import Testing

@Suite("A plane through a volume")
struct PlanePanelTests {
    private static let sixth = Double.pi / 6

    /// Values that are linear in mm are interpolated exactly.
    private func value(at point: SIMD3<Double>) -> Double { 100 + 3 * point.x - 2 * point.y + 5 * point.z }

    private func volume(_ shape: VolumeShape, _ affine: Affine) throws -> Volume {
        var values = [Float](repeating: 0, count: shape.count)
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x {
                    values[shape.offset(i, j, k)] = Float(value(at: affine(SIMD3(Double(i), Double(j), Double(k)))))
                }
            }
        }
        return Volume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: try FrozenVoxels(values))
    }

    /// Columns of a turned grid of unequal spacing.
    private let affine = Affine(
        columnI: SIMD3(-0.8, 0.3, 0),
        columnJ: SIMD3(-0.45, -1.2, 0),
        columnK: SIMD3(0, 0, 2.5),
        translation: SIMD3(20, 15, -30)
    )

    @Test("A slanted plane through a linear image has the image's values, and black outside")
    func slanted() throws {
        let shape = VolumeShape(x: 40, y: 30, z: 20)
        let volume = try volume(shape, affine)
        let inverse = try #require(affine.inverse)
        let panel = PlanePanel(
            center: affine(SIMD3(20, 15, 10)),
            right: SIMD3(-0.8660254037844386, 0, 0.5),
            down: SIMD3(0, -1, 0),
            pixelSize: 0.7,
            size: (70, 60)
        )
        let (lower, upper) = (-200.0, 400.0)
        let image = panel.image(of: volume, window: .fixed(lower: Float(lower), upper: Float(upper)))
        var (inside, outside) = (0, 0)
        for y in 0..<60 {
            for x in 0..<70 {
                let point = panel.point(x: x, y: y)
                let index = inverse(point)
                let isBetween = (0..<3).allSatisfy { index[$0] >= 0 && index[$0] <= Double(shape[$0] - 1) }
                let isBeyond = (0..<3).contains { index[$0] < -0.5 || index[$0] > Double(shape[$0]) - 0.5 }
                if isBetween {
                    inside += 1
                    let grey = min(max((value(at: point) - lower) / (upper - lower), 0), 1) * 255
                    #expect(abs(Double(image[x, y].x) - grey) <= 0.51)
                } else if isBeyond {
                    outside += 1
                    #expect(image[x, y] == .zero)
                }
            }
        }
        #expect(inside > 500 && outside > 500)
    }

    @Test("A pixel's centre is found again, and letters name the nearest sides")
    func places() {
        let panel = PlanePanel(
            center: SIMD3(5, -3, 8),
            right: SIMD3(-0.8660254037844386, 0, 0.5),
            down: SIMD3(0, -1, 0),
            pixelSize: 0.25,
            size: (30, 50)
        )
        let found = panel.pixel(of: panel.point(x: 7, y: 41))
        #expect(abs(found.x - 7.5) < 1e-9 && abs(found.y - 41.5) < 1e-9)
        #expect(panel.letters == "RLAP")
        let sagittal = PlanePanel(
            center: .zero,
            right: SIMD3(0, -1, 0),
            down: SIMD3(0, 0, -1),
            pixelSize: 1,
            size: (2, 2)
        )
        #expect(sagittal.letters == "APSI")
    }

    @Test("The outline of a disc and a line lie where they are in the patient")
    func drawing() throws {
        let panel = PlanePanel(
            center: SIMD3(5, -3, 8),
            right: SIMD3(-1, 0, 0),
            down: SIMD3(0, -1, 0),
            pixelSize: 0.5,
            size: (80, 80)
        )
        let (center, radius) = (SIMD3(8.0, 1, 8), 6.0)
        var image = RGBImage(width: 80, height: 80)
        panel.drawOutline(in: &image, color: SIMD3(255, 0, 0)) { length($0 - center) <= radius }
        panel.drawLine(from: SIMD3(0, -10, 0), to: SIMD3(-8, -10, 30), in: &image, color: SIMD3(0, 255, 0))
        var (reds, greens) = (0, 0)
        for y in 0..<80 {
            for x in 0..<80 {
                let point = panel.point(x: x, y: y)
                if image[x, y].x == 255 {
                    reds += 1
                    #expect(abs(length(point - center) - radius) <= 0.75)
                }
                if image[x, y].y == 255 {
                    greens += 1
                    #expect(abs(point.y + 10) <= 0.5 && point.x <= 0.5 && point.x >= -8.5)
                }
            }
        }
        #expect(reds > 60 && greens >= 15)
    }
}
