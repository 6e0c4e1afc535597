/// Finds the outline pixels of a label image.
enum Outlines {
    /// Calls `draw` with every pixel, row by row, whose label is not 0 and differs from a neighbour's above, below,
    /// left or right. The border of the image itself is not an outline.
    ///
    /// Outlines consist of pixels, not of voxels: they are thin in every image, whatever its scale.
    static func forEach(_ labels: [UInt16], width: Int, _ draw: (_ x: Int, _ y: Int, _ label: UInt16) -> Void) {
        let height = width > 0 ? labels.count / width : 0
        for y in 0..<height {
            for x in 0..<width {
                let place = x + width * y
                let label = labels[place]
                guard label != 0 else { continue }
                let isInside =
                    (x == 0 || labels[place - 1] == label) && (x == width - 1 || labels[place + 1] == label)
                    && (y == 0 || labels[place - width] == label) && (y == height - 1 || labels[place + width] == label)
                if !isInside { draw(x, y, label) }
            }
        }
    }
}
