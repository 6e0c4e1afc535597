import Foundation

/// A raster of pixels across a direction of view.
struct RenderingView: Sendable {
    let direction: Direction
    let width: Int
    let height: Int
    /// mm from one pixel to the next.
    let pixel: Double
    private let middle: SIMD3<Double>

    /// - Parameters:
    ///   - middle: what is in the middle of the picture, in mm.
    ///   - size: width and height in mm.
    ///   - pixel: mm from one pixel to the next.
    init(_ direction: Direction, middle: SIMD3<Double>, size: SIMD2<Double>, pixel: Double) {
        self.direction = direction
        self.middle = middle
        self.pixel = pixel
        width = max(1, Int((size.x / pixel).rounded()))
        height = max(1, Int((size.y / pixel).rounded()))
    }

    /// The place in mm of a pixel's middle, in the plane through the middle of the picture.
    func place(_ x: Int, _ y: Int) -> SIMD3<Double> {
        middle + direction.right * ((Double(x) + 0.5 - Double(width) / 2) * pixel)
            + SIMD3(0, 0, (Double(height) / 2 - Double(y) - 0.5) * pixel)
    }
}

extension RenderingView {
    /// A direction of view: in front of the patient at angle 0, at the patient's left side at 90 degrees, the head on top.
    struct Direction: Sendable {
        /// Degrees.
        let angle: Double
        /// Away from the viewer, along R, A and S; of length 1.
        let forward: SIMD3<Double>
        /// To the right in the picture, of length 1.
        let right: SIMD3<Double>

        init(angle: Double) {
            self.angle = angle
            let (sine, cosine) = (Self.sine(angle), Self.sine(angle + 90))
            forward = SIMD3(sine, -cosine, 0)
            right = SIMD3(-cosine, -sine, 0)
        }

        /// Exact for multiples of 90 degrees.
        private static func sine(_ angle: Double) -> Double {
            let quarters = angle / 90
            guard quarters == quarters.rounded() else { return sin(angle * .pi / 180) }
            return [0, 1, 0, -1][(Int(quarters) % 4 + 4) % 4]
        }

        /// The letters at the left, right, top and bottom; between two sides of the patient those of the nearer one.
        var letters: String { ["RLSI", "APSI", "LRSI", "PASI"][(Int((angle / 90).rounded()) % 4 + 4) % 4] }

        /// Width and height of a box along R, A and S.
        func size(of box: SIMD3<Double>) -> SIMD2<Double> {
            SIMD2(box.x * abs(right.x) + box.y * abs(right.y), box.z)
        }
    }
}
