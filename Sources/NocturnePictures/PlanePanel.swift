public import NocturneCore

/// An image of a plane through a volume, at any angle.
///
/// Values between voxel centres are interpolated trilinearly; pixels outside the volume are black.
public struct PlanePanel: Sendable {
    /// The point in the middle of the image, in RAS+ mm.
    public let center: SIMD3<Double>
    /// Perpendicular unit vectors: the directions of rows and of columns.
    public let right: SIMD3<Double>
    /// A unit vector in mm space that points down in the image; perpendicular to ``right``.
    public let down: SIMD3<Double>
    /// In mm.
    public let pixelSize: Double
    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int

    /// - Parameter pixelSize: in mm, above 0.
    public init(
        center: SIMD3<Double>,
        right: SIMD3<Double>,
        down: SIMD3<Double>,
        pixelSize: Double,
        size: (width: Int, height: Int)
    ) {
        precondition(pixelSize > 0 && size.width > 0 && size.height > 0, "an image has pixels")
        self.center = center
        self.right = right
        self.down = down
        self.pixelSize = pixelSize
        (width, height) = size
    }

    /// The centre of a pixel in RAS+ mm.
    public func point(x: Int, y: Int) -> SIMD3<Double> {
        let across = (Double(x) + 0.5 - Double(width) / 2) * pixelSize
        let below = (Double(y) + 0.5 - Double(height) / 2) * pixelSize
        return center + right * across + down * below
    }

    /// The pixel coordinates of a point's projection into the plane; the first pixel's centre is (0.5, 0.5).
    public func pixel(of point: SIMD3<Double>) -> SIMD2<Double> {
        let offset = point - center
        return SIMD2(
            dot(offset, right) / pixelSize + Double(width) / 2,
            dot(offset, down) / pixelSize + Double(height) / 2
        )
    }

    /// The letters of the patient's sides at the left, right, top and bottom of the image: for an oblique plane, those
    /// nearest.
    public var letters: String {
        func letter(_ direction: SIMD3<Double>) -> String {
            let axis = (0..<3).max { abs(direction[$0]) < abs(direction[$1]) - 1e-9 } ?? 0
            return [["L", "R"], ["P", "A"], ["I", "S"]][axis][direction[axis] > 0 ? 1 : 0]
        }
        return letter(-right) + letter(right) + letter(-down) + letter(down)
    }

    /// Draws the grey values. The percentiles of ``PictureWindow/percentiles`` are those of this image.
    ///
    /// Takes about 50 ns a pixel, and 16 bytes.
    public func image(of volume: Volume, window: PictureWindow) -> RGBImage {
        let values = values(of: volume)
        let scale = GreyScale(window, over: values.filter(\.isFinite))
        var image = RGBImage(width: width, height: height)
        image.samples = values.flatMap { value in
            let grey = scale.grey(value)
            return [grey, grey, grey]
        }
        return image
    }

    /// NaN outside the volume. A voxel reaches half a step beyond its centre.
    private func values(of volume: Volume) -> [Float] {
        let shape = volume.geometry.shape
        guard let inverse = volume.geometry.affine.inverse else {
            return [Float](repeating: .nan, count: width * height)
        }
        let last = SIMD3(Double(shape.x - 1), Double(shape.y - 1), Double(shape.z - 1))
        return volume.voxels.withUnsafeBufferPointer { voxels in
            guard let base = voxels.baseAddress else { return [] }
            return (0..<width * height).map { place in
                let index = inverse(point(x: place % width, y: place / width))
                guard (0..<3).allSatisfy({ index[$0] >= -0.5 && index[$0] <= last[$0] + 0.5 }) else { return .nan }
                let nearest = pointwiseMin(pointwiseMax(index, .zero), last)
                return trilinearValue(base, shape, at: nearest).map { Float($0) } ?? .nan
            }
        }
    }

    /// Draws the outline of the pixels whose centres are inside.
    public func drawOutline(
        in image: inout RGBImage,
        color: SIMD3<UInt8>,
        inside: (SIMD3<Double>) -> Bool
    ) {
        let mask = (0..<width * height).map { inside(point(x: $0 % width, y: $0 / width)) ? UInt16(1) : 0 }
        LabelDrawing.forEachOutline(mask, width: width) { x, y, _ in image[x, y] = color }
    }

    /// Draws a line between two points, projected into the plane, one pixel wide.
    public func drawLine(
        from first: SIMD3<Double>,
        to second: SIMD3<Double>,
        in image: inout RGBImage,
        color: SIMD3<UInt8>
    ) {
        let (a, b) = (pixel(of: first), pixel(of: second))
        let reach = max(abs(b.x - a.x), abs(b.y - a.y))
        guard reach.isFinite else { return }
        let steps = Int(min(reach, 1e4).rounded(.up)) + 1
        for step in 0...steps {
            let place = a + (b - a) * (Double(step) / Double(steps))
            guard place.x >= 0, place.y >= 0, place.x < Double(width), place.y < Double(height) else { continue }
            image[Int(place.x), Int(place.y)] = color
        }
    }

    /// The space around a placed image that its letters take, in pixels.
    public static let margin = OrientationLetters.margin

    /// Copies a drawn image into a sheet, with the letters of the patient's sides around it, ``margin`` pixels wide.
    public func place(_ image: RGBImage, in sheet: inout RGBImage, x: Int, y: Int) {
        sheet.place(image.samples, width: width, x: x, y: y)
        OrientationLetters.draw(letters, around: (x..<x + width, y..<y + height), in: &sheet)
    }
}
