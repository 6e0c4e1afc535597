import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem

/// The mosaic of slices of a volume of few thick slices.
extension Preview {
    private static let mostSlices = 12
    private static let mosaicColumns = 4

    /// Whether the volume consists of thick slices that together are less than half as high as they are wide.
    func isMosaic(_ grid: SlicedGrid) -> Bool {
        let thick = grid.axes[grid.acquiredAxis]
        let (extent, spacing) = (grid.axes.map(\.extent).max() ?? 0, grid.axes.map(\.spacing).min() ?? 0)
        return thick.extent < extent / 2 && thick.spacing >= 1.5 * spacing
    }

    func drawMosaic(_ grid: SlicedGrid, _ scope: ComputeScope) throws(CancelledError) -> RGBImage {
        let (axis, margin) = (grid.acquiredAxis, Self.margin)
        let (lower, length) = (grid.box.lower[axis], grid.box.upper[axis] - grid.box.lower[axis])
        let count = max(1, min(length, Self.mostSlices))
        let columns = min(count, Self.mosaicColumns)
        let sizes = sizes(of: grid)
        let first = View(axis, sizes, x: margin)
        let (width, height) = (first.width, first.height)
        let greys = greyScale(of: grid)
        var image = RGBImage(
            width: columns * (width + 2 * margin),
            height: (count + columns - 1) / columns * (height + 2 * margin)
        )
        for place in 0..<count {
            try scope.check()
            var sliced = grid
            sliced.setCentre(lower + (2 * place + 1) * length / (2 * count), of: axis)
            let x = margin + place % columns * (width + 2 * margin)
            let y = margin + place / columns * (height + 2 * margin)
            drawSlice(View(axis, sizes, x: x), of: sliced, greys, y: y, in: &image)
            let point = volume.geometry.affine(sliced.storedCentre(in: volume.geometry.shape))
            let text = Self.position(point[axis], axis)
            // Darker below the text: a slice may be as bright as its letters, which are at most 9 pixels wide.
            for row in y..<min(y + 22, image.height) {
                for column in x..<min(x + 8 + 9 * text.count, x + width) { image[column, row] &>>= 2 }
            }
            PictureText(width: width, size: 14).draw(text, in: &image, x: x + 4, y: y + 16)
        }
        return image
    }

    /// A coordinate in RAS+ mm as a person reads it, such as `L 12.5`.
    public static func position(_ value: Double, _ axis: Int) -> String {
        let rounded = (value * 10).rounded() / 10
        return "\([["R", "L"], ["A", "P"], ["S", "I"]][axis][rounded < 0 ? 1 : 0]) \(abs(rounded))"
    }
}
