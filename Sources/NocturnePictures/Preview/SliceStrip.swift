import NocturneCore

/// The slices of a volume one after another with the outlines of the labels, as frames of a palette animation.
///
/// Slices lie in the plane asked for; else they are perpendicular to the axis along which voxels are longest, as such
/// volumes are acquired, or to S if that is (within a tenth) as long: axial slices from the feet, coronal ones from the back, or sagittal ones from the left.
/// They are drawn as in ``Preview``, with the letters of the directions at their edges. The longer side has at most 512
/// pixels, a voxel at most 4; of more than 200 slices, 200 are selected evenly.
public struct SliceStrip: Sendable {
    /// Of a frame, in pixels.
    public let width: Int
    /// Of a frame, in pixels.
    public let height: Int
    /// Grey levels from black to white, then the labels' colours: at most 128 different ones; the others use the
    /// nearest of them.
    public let palette: [SIMD3<UInt8>]
    /// The number of frames, 1 to 200.
    public var frameCount: Int { slices.count }

    private let volume: Volume
    private let labels: LabelVolume?
    private let grid: SlicedGrid
    private let across: Int
    private let down: Int
    /// Left, right, top, bottom.
    private let letters: String
    /// The slice of each frame.
    private let slices: [Int]
    private let greys: Int
    private let places: [UInt16: UInt8]
    private let scale: GreyScale

    private static let maximumSide = 512.0
    private static let largestVoxel = 4.0
    private static let maximumFrameCount = 200
    private static let maximumColorCount = 128

    /// The plane of the slices of an animation.
    public enum Plane: String, Sendable, CaseIterable {
        case axial, coronal, sagittal
    }

    /// - Parameters:
    ///   - preview: the content; percentiles of its window are those of the preview too.
    ///   - plane: nil for slices perpendicular to the axis along which voxels are longest.
    public init(_ preview: Preview, plane: Plane? = nil) {
        volume = preview.volume
        labels = preview.labels
        grid = SlicedGrid(preview.volume.geometry, through: preview.labelled)
        scale = preview.greyScale(of: grid)
        let axes = grid.axes
        let through =
            switch plane {
            case nil: grid.acquiredAxis
            case .axial: 2
            case .coronal: 1
            case .sagittal: 0
            }
        (across, down, letters) = SlicedGrid.plane(through)
        let count = axes[through].count
        let frames = min(count, Self.maximumFrameCount)
        slices = (0..<frames).map { (2 * $0 + 1) * count / (2 * frames) }
        let pixels = min(
            Self.maximumSide / max(axes[across].extent, axes[down].extent),
            Self.largestVoxel / min(axes[across].spacing, axes[down].spacing)
        )
        width = max(1, Int((axes[across].extent * pixels).rounded()))
        height = max(1, Int((axes[down].extent * pixels).rounded()))

        var distinct: [SIMD3<UInt8>] = []
        for (_, color) in preview.colors.sorted(by: { $0.key < $1.key })
        where distinct.count < Self.maximumColorCount && !distinct.contains(color) { distinct.append(color) }
        let greys = 256 - distinct.count
        self.greys = greys
        palette =
            (0..<greys).map { SIMD3(repeating: UInt8(($0 * 255 + (greys - 1) / 2) / (greys - 1))) } + distinct
        places = preview.colors.mapValues { color in
            let nearest = distinct.indices.min {
                Self.distance(distinct[$0], color) < Self.distance(distinct[$1], color)
            }
            return UInt8(greys + (nearest ?? 0))
        }
    }

    private static func distance(_ a: SIMD3<UInt8>, _ b: SIMD3<UInt8>) -> Int {
        let difference = SIMD3<Int>(truncatingIfNeeded: a) &- SIMD3<Int>(truncatingIfNeeded: b)
        return (difference &* difference).wrappedSum()
    }

    /// The maximum number of pixels of a frame.
    public static let maximumPixelCount = Int(maximumSide * maximumSide)

    /// The slice through the middle of the labels.
    public func cover() -> [UInt8] { picture(of: grid.axes[3 - across - down].centre) }

    /// Indices into ``palette``, row by row from the top.
    /// - Complexity: O(pixels), a few milliseconds; a few bytes per pixel.
    public func frame(_ index: Int) -> [UInt8] { picture(of: slices[index]) }

    private func picture(of slice: Int) -> [UInt8] {
        let panel = SlicePanel(grid, across: across, down: down, width: width, height: height, index: slice)
        var pixels = panel.greys(of: volume, scale)
        for place in pixels.indices { pixels[place] = grey(pixels[place]) }
        LabelDrawing.forEachOutline(panel.labels(of: labels), width: width) { x, y, label in
            if let place = places[label] { pixels[x + width * y] = place }
        }
        for (letter, place) in OrientationLetters.placed(letters, width: width, height: height) {
            OrientationLetters.forEachPixel(letter, place, of: (width, height)) { x, y, share in
                let below = palette[Int(pixels[x + width * y])]
                pixels[x + width * y] = grey(OrientationLetters.mixed(below.max(), share))
            }
        }
        return pixels
    }

    private func grey(_ value: UInt8) -> UInt8 { UInt8((Int(value) * (greys - 1) + 127) / 255) }
}
