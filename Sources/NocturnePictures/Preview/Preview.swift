public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// An overview image of a result: slices with the outlines and areas of the labels, maximum-intensity projections with their
/// silhouettes, and a shaded view of the labels' surfaces.
///
/// Upper row: the axial, the coronal and the sagittal slice that show most of the labels: the greatest sum of the shares
/// of each label's voxels. Below each of them, the projection of the whole volume in the same direction and at the same
/// scale. On the right, over both rows, the labels from the front, as large as they fit; this view is omitted without
/// labels, and where the surface is not asked for. Of a volume of few thick slices, whose other two planes would be narrow strips,
/// a mosaic of up to 12 slices as they were acquired is drawn instead, evenly distributed over the labels.
///
/// Drawn in radiological convention: the patient's right side is on the left of the image, seen from the feet (axial,
/// the front on top) and from the front (coronal, the head on top); the sagittal images have the front on the left, the
/// head on top, seen from the patient's left. Images follow the grid, so those of an oblique grid are oblique. All
/// slices and projections share one scale: the volume's longest side has 256 pixels, or fewer where a voxel would
/// become larger than 8 pixels.
///
/// Slices and surfaces read only the voxels they show, and the projections read each voxel once. The bytes of the image
/// are the same for any number of threads and for any order in which the same voxels are stored.
public struct Preview: Sendable {
    /// The image whose grey values are drawn.
    public let volume: Volume
    /// On the volume's own grid; nil for a volume without labels.
    public let labels: LabelVolume?
    /// Red, green and blue. A label without a colour gets no outline, and a grey surface.
    public let colors: [UInt16: SIMD3<UInt8>]
    /// The window of the slices. Projections start at the same black; their white is at least that of the window, and
    /// so high that one pixel in two hundred is white, because along a line through a body some voxel always exceeds a
    /// soft tissue window.
    public let window: PictureWindow
    /// The box of all labels in stored indices; nil where no voxel has a label.
    public let labelled: VoxelBox?
    /// Whether the labels' surfaces are drawn, which takes most of the time of a small volume.
    public let drawsSurface: Bool
    /// Of the labels' areas in the slices, from 0 to 1; outlines are opaque.
    public var labelOpacity = 0.0

    /// Traps unless labels and image have one grid.
    public init(
        volume: Volume,
        labels: LabelVolume?,
        colors: [UInt16: SIMD3<UInt8>],
        window: PictureWindow,
        labelled: VoxelBox?,
        drawsSurface: Bool = true
    ) {
        precondition(
            labels.map { $0.geometry.shape == volume.geometry.shape } ?? true,
            "labels and image lie on one grid"
        )
        self.volume = volume
        self.labels = labels
        self.colors = colors
        self.window = window
        self.labelled = labelled
        self.drawsSurface = drawsSurface
    }

    /// Pixels of the longest side of the volume.
    private static let maximumSide = 256.0
    /// The most pixels along the shortest side of a voxel.
    private static let largestVoxel = 8.0
    /// Pixels of the view of the labels.
    private static let largestSurface = (width: 384, height: 544)
    /// Surfaces are smooth between voxels, so their voxels may be drawn larger.
    private static let largestSurfaceVoxel = 12.0
    static let margin = OrientationLetters.margin

    /// The peak memory in bytes of ``drawing(scope:)``: 6 MB for images, the rest for projections.
    public static func predictedBytes(_ shape: VolumeShape, threads: Int) -> Int {
        (6 << 20) + MaximumProjections.predictedBytes(shape, threads: threads) + FirstLabels.predictedBytes(shape)
            + LabelledSlices.predictedBytes(shape)
    }

    /// A panel with a slice, and where it is placed.
    struct View {
        let across: Int
        let down: Int
        /// Whether the viewer is at the end of the third axis.
        let fromEnd: Bool
        /// Left, right, top, bottom.
        let letters: String
        let width: Int
        let height: Int
        let x: Int

        /// - Parameters:
        ///   - axis: perpendicular to the slice.
        ///   - sizes: pixels along each axis.
        init(_ axis: Int, _ sizes: [Int], x: Int) {
            (across, down, letters) = SlicedGrid.plane(axis)
            fromEnd = axis == 1
            (width, height) = (sizes[across], sizes[down])
            self.x = x
        }
    }

    /// The image, the scale of its slices and projections, and the point in RAS+ mm at which the three slices cross; of a mosaic,
    /// nil, since each slice has its position.
    public typealias Drawing = (image: RGBImage, pixelsPerMm: Double, crossing: SIMD3<Double>?)

    /// Draws the image.
    /// - Throws: ``CancelledError``; the flag is checked about every million voxels.
    public func drawing(scope: ComputeScope) throws(CancelledError) -> Drawing {
        let middle = SlicedGrid(volume.geometry, through: labelled)
        if isMosaic(middle) { return (try drawMosaic(middle, scope), scale(of: middle), nil) }
        let grid = try slices(of: middle, scope)
        let views = views(of: grid)
        let margin = Self.margin
        let rowHeight = views.map(\.height).max() ?? 0
        let surface = (drawsSurface ? labelled : nil).map { _ in
            SurfacePanel(
                grid,
                colors: colors,
                width: Self.largestSurface.width,
                height: min(Self.largestSurface.height, 2 * rowHeight + 2 * margin),
                largestVoxel: Self.largestSurfaceVoxel
            )
        }
        let end = views.reduce(0) { $0 + $1.width + 2 * margin }
        var image = RGBImage(
            width: end + (surface.map { $0.width + 2 * margin } ?? 0),
            height: 2 * (rowHeight + 2 * margin)
        )

        let greys = greyScale(of: middle)
        for view in views {
            drawSlice(view, of: grid, greys, y: margin + (rowHeight - view.height) / 2, in: &image)
        }

        let projections = try MaximumProjections(of: volume, scope: scope)
        let values = views.map { projection($0, of: grid).values(of: projections) }
        let bright = brightScale(greys, values)
        for (view, values) in zip(views, values) {
            var silhouettes: [UInt16] = []
            if let labels, labelled != nil {
                let axis = 3 - view.across - view.down
                let first = try FirstLabels(of: labels, grid, along: axis, fromEnd: view.fromEnd, scope: scope)
                silhouettes = projection(view, of: grid, pixels: LabelDrawing.fineness).labels(of: labels, first)
                if axis == 1, let surface {
                    let pixels = try surface.pixels(of: labels, first, scope: scope)
                    draw(pixels, surface, x: end + margin, in: &image)
                }
            }
            let y = rowHeight + 3 * margin + (rowHeight - view.height) / 2
            draw(values.map(bright.grey).flatMap { [$0, $0, $0] }, silhouettes, view, y: y, in: &image)
        }
        return (image, scale(of: grid), volume.geometry.affine(grid.storedCentre(in: volume.geometry.shape)))
    }

    /// - Parameter pixels: for each one of the view, along a side.
    private func projection(_ view: View, of grid: SlicedGrid, pixels: Int = 1) -> ProjectionPanel {
        let (width, height) = (view.width * pixels, view.height * pixels)
        return ProjectionPanel(grid, across: view.across, down: view.down, width: width, height: height)
    }

    /// The slices that show most of the labels.
    private func slices(of grid: SlicedGrid, _ scope: ComputeScope) throws(CancelledError) -> SlicedGrid {
        guard let labels, let labelled else { return grid }
        var takesHigher = [true, true, true]
        for axis in 0..<3 { takesHigher[grid.orientation.source[axis]] = !grid.orientation.reversed[axis] }
        let slices = LabelledSlices(colors.keys, in: labelled)
        return grid.moved(to: try slices.indices(of: labels, takesHigher: takesHigher, scope: scope))
    }

    /// Pixels per mm.
    func scale(of grid: SlicedGrid) -> Double {
        min(
            Self.maximumSide / (grid.axes.map(\.extent).max() ?? 1),
            Self.largestVoxel / (grid.axes.map(\.spacing).min() ?? 1)
        )
    }

    private func views(of grid: SlicedGrid) -> [View] {
        let sizes = sizes(of: grid)
        var x = Self.margin
        return [2, 1, 0].map { axis in
            let view = View(axis, sizes, x: x)
            x += view.width + 2 * Self.margin
            return view
        }
    }

    /// Pixels along each axis.
    func sizes(of grid: SlicedGrid) -> [Int] {
        let scale = scale(of: grid)
        return grid.axes.map { max(1, Int(($0.extent * scale).rounded())) }
    }

    // MARK: Drawing

    func drawSlice(_ view: View, of grid: SlicedGrid, _ scale: GreyScale, y: Int, in image: inout RGBImage) {
        let panel = SlicePanel(grid, across: view.across, down: view.down, width: view.width, height: view.height)
        let fine = SlicePanel(
            grid,
            across: view.across,
            down: view.down,
            width: view.width * LabelDrawing.fineness,
            height: view.height * LabelDrawing.fineness
        ).labels(of: labels)
        let pixels = LabelDrawing.blended(
            panel.greys(of: volume, scale),
            LabelDrawing.middles(fine, width: view.width),
            colors: colors,
            opacity: labelOpacity
        )
        draw(pixels, fine, view, y: y, in: &image)
    }

    /// The surfaces, in the middle of the image's height.
    private func draw(_ pixels: [UInt8], _ surface: SurfacePanel, x: Int, in image: inout RGBImage) {
        let y = (image.height - surface.height) / 2
        image.place(pixels, width: surface.width, x: x, y: y)
        OrientationLetters.draw("RLSI", around: (x..<x + surface.width, y..<y + surface.height), in: &image)
    }

    /// - Parameters:
    ///   - pixels: red, green and blue.
    ///   - labels: ``LabelDrawing/fineness`` times as fine as the pixels.
    private func draw(_ pixels: [UInt8], _ labels: [UInt16], _ view: View, y: Int, in image: inout RGBImage) {
        image.place(pixels, width: view.width, x: view.x, y: y)
        LabelDrawing.drawOutlines(labels, width: view.width, colors: colors, at: (view.x, y), in: &image)
        OrientationLetters.draw(
            view.letters,
            around: (view.x..<view.x + view.width, y..<y + view.height),
            in: &image
        )
    }

    // MARK: Windows

    /// The intensities that the slices show as black and as white.
    public var shownRange: (lower: Double, upper: Double) {
        let scale = greyScale(of: SlicedGrid(volume.geometry, through: labelled))
        return (scale.lower, scale.upper)
    }

    func greyScale(of grid: SlicedGrid) -> GreyScale { GreyScale(window, over: sampledVoxels(of: grid)) }

    /// Intensities of voxels evenly distributed over the three slices.
    private func sampledVoxels(of grid: SlicedGrid) -> [Float] {
        let pairs = [(0, 1), (0, 2), (1, 2)]
        let total = pairs.reduce(0) { $0 + grid.axes[$1.0].count * grid.axes[$1.1].count }
        // The same step along both axes gives an even selection for any shape.
        let step = max(1, Int((Double(total) / 4096).squareRoot().rounded(.up)))
        var found: [Float] = []
        volume.voxels.withUnsafeBufferPointer { voxels in
            for (across, down) in pairs {
                let base = grid.base(across: across, down: down)
                for row in stride(from: 0, to: grid.axes[down].count, by: step) {
                    for column in stride(from: 0, to: grid.axes[across].count, by: step) {
                        let value = voxels[base + grid.axes[across].offsets[column] + grid.axes[down].offsets[row]]
                        if value.isFinite { found.append(value) }
                    }
                }
            }
        }
        return found
    }

    private func brightScale(_ scale: GreyScale, _ values: [[Float]]) -> GreyScale {
        let sorted = values.joined().filter(\.isFinite).sorted()
        guard let last = sorted.indices.last else { return scale }
        let bright = Double(sorted[last - last / 200])
        return GreyScale(lower: scale.lower, upper: max(scale.upper, bright))
    }
}

extension RGBImage {
    /// Copies rows of `width` red, green and blue pixels to `x`, `y`. They must fit.
    mutating func place(_ pixels: [UInt8], width: Int, x: Int, y: Int) {
        let rows = width > 0 ? pixels.count / (width * 3) : 0
        precondition(x >= 0 && y >= 0 && x + width <= self.width && y + rows <= height, "pixels out of range")
        for row in 0..<rows {
            let target = (x + self.width * (y + row)) * 3
            samples.replaceSubrange(target..<target + width * 3, with: pixels[row * width * 3..<(row + 1) * width * 3])
        }
    }
}
