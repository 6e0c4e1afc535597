/// A shape drawn by a user, to be measured on a volume.
///
/// Points are in ``space``. Radii, half axes and sizes are always in mm, so a circle is a circle in the patient
/// whatever the voxel spacing. Nothing here refers to a grid; a region is mapped to a grid when it is measured.
public struct RegionOfInterest: Hashable, Sendable {
    /// The coordinate system of a region's points.
    public enum Space: String, Hashable, Sendable, CaseIterable {
        /// mm; x to the left, y to the back, z to the head, as in DICOM.
        case patientLps
        /// mm; x to the right, y to the front, z to the head, as in NIfTI.
        case patientRas
        /// Voxel indices (i, j, k), counted from 0; whole numbers are voxel centres.
        case voxel
    }

    /// The number of bins of a histogram, and the range of values it covers.
    public struct HistogramRule: Hashable, Sendable {
        /// The number of bins of equal width, 1 to ``maximumBinCount``.
        public var bins: Int
        /// In the image's unit; nil for smallest to largest value.
        public var range: ClosedRange<Double>?

        /// 16 bins over the values that occur.
        public static let standard = HistogramRule(bins: 16)
        /// A limit for numbers from files.
        public static let maximumBinCount = 1024

        /// Traps unless `bins` is within 1 to ``maximumBinCount``; files are checked before.
        public init(bins: Int, range: ClosedRange<Double>? = nil) {
            precondition((1...Self.maximumBinCount).contains(bins), "a histogram has 1 to 1024 bins")
            self.bins = bins
            self.range = range
        }
    }

    /// The plane that contains a flat region.
    public enum Plane: Hashable, Sendable {
        /// The voxels of one slice across a grid axis; without an index, the slice nearest to the region's centre.
        case slice(across: Axis, index: Int?)
        /// Any plane, through `point` or through the region's centre. `normal` and `right` are directions in ``space``,
        /// which must be a patient space. `right`, projected into the plane, is the first axis of the region. `spacing`
        /// is the distance between samples in mm; nil for the smallest voxel spacing.
        case oblique(normal: SIMD3<Double>, point: SIMD3<Double>?, right: SIMD3<Double>?, spacing: Double?)
    }

    /// An axis of the grid: by its index, or as the one closest to an axis of the patient.
    public enum Axis: String, Hashable, Sendable, CaseIterable {
        case i, j, k
        /// The slices most nearly perpendicular to right-left, front-back and foot-head.
        case sagittal, coronal, axial
    }

    /// What is measured.
    public enum Shape: Hashable, Sendable {
        /// A line through two points or more.
        case length([SIMD3<Double>])
        /// The angle between the lines from the middle point to the other two.
        case angle(SIMD3<Double>, vertex: SIMD3<Double>, SIMD3<Double>)
        case circle(center: SIMD3<Double>, radius: Double, Plane)
        /// Half axes along the plane's own axes, rotated by `rotation` degrees from the first axis towards the second.
        case ellipse(center: SIMD3<Double>, radii: SIMD2<Double>, rotation: Double, Plane)
        /// Full edge lengths, rotated in the same way.
        case rectangle(center: SIMD3<Double>, size: SIMD2<Double>, rotation: Double, Plane)
        /// The points inside by the even-odd rule, after projection into the plane.
        case polygon([SIMD3<Double>], Plane)
        case sphere(center: SIMD3<Double>, radius: Double)
        /// The box between two corners, along the axes of ``space``.
        case box(lower: SIMD3<Double>, upper: SIMD3<Double>)

        /// The name of the shape in files.
        public var kind: String {
            switch self {
            case .length: "length"
            case .angle: "angle"
            case .circle: "circle"
            case .ellipse: "ellipse"
            case .rectangle: "rectangle"
            case .polygon: "polygon"
            case .sphere: "sphere"
            case .box: "box"
            }
        }
    }

    /// As the user named it.
    public var name: String
    /// The coordinate system of the points of ``shape``.
    public var space: Space
    /// What is measured, with its points.
    public var shape: Shape
    /// How the intensities inside are counted.
    public var histogram: HistogramRule

    /// - Parameters:
    ///   - name: as the user named it.
    ///   - space: the coordinate system of the points.
    ///   - shape: what is measured.
    ///   - histogram: how intensities are counted.
    public init(name: String, space: Space, shape: Shape, histogram: HistogramRule = .standard) {
        self.name = name
        self.space = space
        self.shape = shape
        self.histogram = histogram
    }
}
