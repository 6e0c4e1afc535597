import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// A shaded orthographic view of all labels from the front, ray-cast directly into the label map: it needs no meshes
/// and no memory except its own pixels.
///
/// Each pixel is the mean of four rays. A ray starts where the voxels around it first have a label (``FirstLabels``)
/// and stops at the surface of the smooth label field; the normal is the gradient of the field over a wider
/// neighbourhood, so that neither voxels nor thick slices appear as steps.
struct SurfacePanel {
    /// Along each side of a pixel.
    private static let raysPerSide = 2
    /// The colour of a label without one in the package.
    private static let plain = SIMD3<Double>(repeating: 190)

    let width: Int
    let height: Int
    private let grid: SlicedGrid
    private let colors: [UInt16: SIMD3<UInt8>]
    /// The upper left corner of the image, in canonical indices: R, and S.
    private let corner: SIMD2<Double>
    /// The distance between rays, in voxels.
    private let step: SIMD2<Double>

    /// The box of the labels with a margin of one and a half voxels, as large as fits in `width` and `height` pixels.
    init(_ grid: SlicedGrid, colors: [UInt16: SIMD3<UInt8>], width: Int, height: Int, largestVoxel: Double) {
        self.grid = grid
        self.colors = colors
        let (across, down) = (grid.axes[0], grid.axes[2])
        let around = 1.5
        let columns = Double(grid.box.upper.x - grid.box.lower.x) + 2 * around
        let rows = Double(grid.box.upper.z - grid.box.lower.z) + 2 * around
        let scale = min(
            Double(width) / (columns * across.spacing),
            Double(height) / (rows * down.spacing),
            largestVoxel / min(across.spacing, down.spacing)
        )
        self.width = max(1, Int((columns * across.spacing * scale).rounded()))
        self.height = max(1, Int((rows * down.spacing * scale).rounded()))
        // Images start at the right and at the head, half a voxel beyond the last centre.
        corner = SIMD2(Double(grid.box.upper.x) - 0.5 + around, Double(grid.box.upper.z) - 0.5 + around)
        step = SIMD2(columns / Double(self.width), rows / Double(self.height)) / Double(Self.raysPerSide)
    }

    /// Red, green and blue, row by row.
    /// - Parameter first: computed along A from its end.
    /// - Throws: ``CancelledError``; the flag is checked for every row.
    func pixels(of labels: LabelVolume, _ first: FirstLabels, scope: ComputeScope) throws(CancelledError) -> [UInt8] {
        var pixels = [UInt8](repeating: 0, count: width * height * 3)
        try labels.voxels.withParallelReader { voxels throws(CancelledError) in
            try pixels.withParallelBuffer { pixels throws(CancelledError) in
                try scope.forEach(height) { y in
                    let field = LabelField(voxels, grid)
                    for x in 0..<width {
                        let color = pixel(x, y, field, first)
                        let place = (x + width * y) * 3
                        for channel in 0..<3 { pixels[place + channel] = UInt8(color[channel].rounded()) }
                    }
                }
            }
        }
        return pixels
    }

    private func pixel(_ x: Int, _ y: Int, _ field: LabelField, _ first: FirstLabels) -> SIMD3<Double> {
        let rays = Self.raysPerSide
        var sum = SIMD3<Double>.zero
        for ray in 0..<rays * rays {
            let place = SIMD2(Double(x * rays + ray % rays) + 0.5, Double(y * rays + ray / rays) + 0.5)
            let across = corner.x - place.x * step.x
            let down = corner.y - place.y * step.y
            guard let depth = hit(x: across, z: down, field, first) else { continue }
            let point = SIMD3(across, depth, down)
            let color = colors[field.label(at: point)].map { SIMD3<Double>(SIMD3<Int>(truncatingIfNeeded: $0)) }
            let span = Double(grid.box.upper.y - grid.box.lower.y)
            sum += Light.shaded(
                color ?? Self.plain,
                normal: field.normal(at: point),
                depth: min(max((Double(grid.box.upper.y) - 0.5 - depth) / span, 0), 1)
            )
        }
        return sum / Double(rays * rays)
    }

    /// The position where the ray meets the surface: the index along A, from the front; nil if it misses.
    private func hit(x: Double, z: Double, _ field: LabelField, _ first: FirstLabels) -> Double? {
        let (i, k) = (Int((x + 0.5).rounded(.down)), Int((z + 0.5).rounded(.down)))
        var near = Int.min
        var far = Int.max
        for z in max(k - 1, grid.box.lower.z)..<max(min(k + 2, grid.box.upper.z), k - 1, grid.box.lower.z) {
            for x in max(i - 1, grid.box.lower.x)..<max(min(i + 2, grid.box.upper.x), i - 1, grid.box.lower.x) {
                let depth = first[x - grid.box.lower.x, z - grid.box.lower.z]
                guard depth >= 0 else { continue }
                near = max(near, depth)
                far = min(far, depth)
            }
        }
        guard near >= far else { return nil }
        let column = field.column(x: x, z: z)
        // Around each integer index the field is a parabola given by three sums.
        var (before, here) = (0.0, field.sum(column, y: near + 1))
        var edge = (before + here) / 2
        for y in stride(from: near + 1, through: far - 2, by: -1) {
            let behind = field.sum(column, y: y - 1)
            let middle = before / 8 + here * 0.75 + behind / 8
            let end = (here + behind) / 2
            if middle >= LabelField.surface { return Double(y) + 0.5 - 0.5 * Self.crossing(edge, middle) }
            if end >= LabelField.surface { return Double(y) - 0.5 * Self.crossing(middle, end) }
            (before, here, edge) = (here, behind, end)
        }
        return nil
    }

    /// The position of the surface between two values, as a fraction of their distance.
    private static func crossing(_ from: Double, _ to: Double) -> Double {
        to > from ? min(max((LabelField.surface - from) / (to - from), 0), 1) : 0
    }
}

extension SurfacePanel {
    /// Shading of a surface: Phong's model, with one light source above the viewer's left shoulder.
    ///
    /// Directions are along R, A and S; the viewer is in front of the patient.
    enum Light {
        static let viewer = SIMD3<Double>(0, 1, 0)
        static let lightDirection = unit(SIMD3(0.45, 1, 0.6))
        /// With ``diffuse`` 1: a surface that faces the light has its label's colour.
        static let ambient = 0.22
        static let diffuse = 0.78
        /// Of white, where the light is mirrored to the viewer.
        static let specular = 0.25
        /// How much darker the farthest part of the labels is than the nearest.
        static let depthDarkening = 0.3

        /// - Parameters:
        ///   - normal: of length 1, pointing out of the surface.
        ///   - depth: 0 at the nearest part of the scene, 1 at the farthest.
        /// - Returns: red, green and blue, 0...255.
        static func shaded(_ color: SIMD3<Double>, normal: SIMD3<Double>, depth: Double) -> SIMD3<Double> {
            let facing = max(0, dot(normal, lightDirection))
            let mirrored = max(0, dot(normal, unit(lightDirection + viewer)))
            // Raised to the power of 32.
            let specularTerm = (0..<5).reduce(mirrored) { value, _ in value * value } * specular
            let lit =
                (color * (ambient + diffuse * facing) + SIMD3(repeating: 255 * specularTerm))
                * (1 - depthDarkening * depth)
            return lit.clamped(lowerBound: .zero, upperBound: SIMD3(repeating: 255))
        }

        static func unit(_ vector: SIMD3<Double>) -> SIMD3<Double> {
            let size = length(vector)
            return size > 0 ? vector / size : viewer
        }
    }
}
