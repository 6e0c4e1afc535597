public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

extension VolumeRendering {
    /// Of the longest side, in pixels.
    private static let largestView = 512.0
    /// Voxels are drawn no larger, in pixels.
    private static let largestVoxel = 4.0

    /// The number of frames of the turn.
    public static let frameCount = 36
    /// The maximum number of pixels of a frame.
    public static let maximumFramePixelCount = Int(largestView * largestView)

    // MARK: The still picture

    /// One view with its opacities.
    package struct Picture: Sendable, Hashable {
        /// On black.
        package var image: RGBImage
        /// For each pixel, from 0 to 255.
        package var opacities: [UInt8]
        /// The same for all views of one volume.
        package let millimetresPerPixel: Double
    }

    /// What is visible, seen from an angle in degrees: 0 is the front, 90 the patient's left side. All views have one scale: the
    /// longest side of what is visible has 512 pixels, or fewer where a voxel would become larger than 4.
    /// - Throws: ``CancelledError``; the flag is checked for every row.
    package func picture(from angle: Double, scope: ComputeScope) throws(CancelledError) -> Picture {
        let direction = RenderingView.Direction(angle: angle)
        let view = RenderingView(
            direction,
            middle: extent.middle,
            size: direction.size(of: extent.size),
            pixel: max(extent.size.max() / Self.largestView, spacing / Self.largestVoxel)
        )
        var image = RGBImage(width: view.width, height: view.height)
        var opacities = [UInt8](repeating: 0, count: view.width * view.height)
        try image.samples.withParallelBuffer { samples throws(CancelledError) in
            try opacities.withParallelBuffer { opacities throws(CancelledError) in
                try RayCaster.with(voxels, blocks, table, view) { rays throws(CancelledError) in
                    try scope.forEach(view.height) { y in
                        for x in 0..<view.width {
                            let place = x + view.width * y
                            let color = rays.color(x, y)
                            for channel in 0..<3 { samples[place * 3 + channel] = color[channel] }
                            opacities[place] = color.w
                        }
                    }
                }
            }
        }
        return Picture(image: image, opacities: opacities, millimetresPerPixel: view.pixel)
    }

    /// The views from the front and from the patient's left side, next to each other at one scale, with the letters of the
    /// directions at their edges.
    /// - Throws: ``CancelledError``; the flag is checked for every row.
    public func still(scope: ComputeScope) throws(CancelledError) -> RGBImage {
        var views: [(letters: String, image: RGBImage)] = []
        for angle in [0.0, 90] {
            views.append((RenderingView.Direction(angle: angle).letters, try picture(from: angle, scope: scope).image))
        }
        let margin = OrientationLetters.margin
        var image = RGBImage(
            width: views.reduce(0) { $0 + $1.image.width + 2 * margin },
            height: views[0].image.height + 2 * margin
        )
        var x = margin
        for (letters, view) in views {
            image.place(view.samples, width: view.width, x: x, y: margin)
            OrientationLetters.draw(letters, around: (x..<x + view.width, margin..<margin + view.height), in: &image)
            x += view.width + 2 * margin
        }
        return image
    }

    // MARK: The turn

    /// Width and height in pixels of every frame.
    public var frameSize: (width: Int, height: Int) {
        let view = frameView(0)
        return (view.width, view.height)
    }

    private func frameView(_ index: Int) -> RenderingView {
        let size = SIMD2(2 * extent.radius, extent.size.z)
        return RenderingView(
            RenderingView.Direction(angle: Double(index) * 360 / Double(Self.frameCount)),
            middle: extent.middle,
            size: size,
            pixel: max(size.max() / Self.largestView, spacing / Self.largestVoxel)
        )
    }

    /// A frame of the turn: the first from the front, the next ones by the patient's left side, the last before the front.
    /// - Complexity: some hundredths of a second.
    public func frame(_ index: Int) -> RGBImage {
        let view = frameView(index)
        var image = RGBImage(width: view.width, height: view.height)
        RayCaster.with(voxels, blocks, frameTable, view) { rays in
            for y in 0..<view.height {
                for x in 0..<view.width {
                    let color = rays.color(x, y)
                    image[x, y] = SIMD3(color.x, color.y, color.z)
                }
            }
        }
        OrientationLetters.draw(view.direction.letters, inside: &image)
        return image
    }
}
