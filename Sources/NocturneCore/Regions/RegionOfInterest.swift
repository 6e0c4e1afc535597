/// A shape somebody drew, to be measured on a volume.
///
/// Points are in ``space``. Radii, half axes and sizes are always in mm, so a circle is a circle in the patient however
/// flat the voxels are. Nothing here refers to a grid; a region is laid on one when it is measured.
public struct RegionOfInterest: Hashable, Sendable {
    /// What the points of a region are given in.
    public enum Space: String, Hashable, Sendable, CaseIterable {
        /// mm; x to the left, y to the back, z to the head, as in DICOM.
        case patientLps
        /// mm; x to the right, y to the front, z to the head, as in NIfTI.
        case patientRas
        /// Voxel indices (i, j, k), counted from 0; whole numbers are voxel centres.
        case voxel
    }

    /// How many bins a histogram has, and over which values.
    public struct HistogramRule: Hashable, Sendable {
        public var bins: Int
        /// In the image's unit; nil for smallest to largest value.
        public var range: ClosedRange<Double>?

        public static let standard = HistogramRule(bins: 16)
        public static let largestBinCount = 1024

        public init(bins: Int, range: ClosedRange<Double>? = nil) {
            precondition((1...Self.largestBinCount).contains(bins), "a histogram has 1 to 1024 bins")
            self.bins = bins
            self.range = range
        }
    }

    /// The plane a flat region lies in.
    public enum Plane: Hashable, Sendable {
        /// The voxels of one slice across a grid axis; without an index, of the slice nearest the region's centre.
        case slice(across: Axis, index: Int?)
        /// Any plane: through `point`, or through the region's centre. `normal` and `right` are directions in ``space``,
        /// which has to be a patient space. `right`, laid into the plane, is the first axis of the region. `spacing` is
        /// the distance of samples in mm; nil for the smallest voxel spacing.
        case oblique(normal: SIMD3<Double>, point: SIMD3<Double>?, right: SIMD3<Double>?, spacing: Double?)
    }

    /// An axis of the grid: by its place, or as the one that lies closest to an axis of the patient.
    public enum Axis: String, Hashable, Sendable, CaseIterable {
        case i, j, k
        /// The slices most across right-left, front-back and foot-head.
        case sagittal, coronal, axial
    }

    public enum Shape: Hashable, Sendable {
        /// A line through two points or more.
        case length([SIMD3<Double>])
        /// Between the lines from the middle point to the other two.
        case angle(SIMD3<Double>, vertex: SIMD3<Double>, SIMD3<Double>)
        case circle(center: SIMD3<Double>, radius: Double, Plane)
        /// Half axes along the plane's own axes, turned by `rotation` degrees from the first towards the second.
        case ellipse(center: SIMD3<Double>, radii: SIMD2<Double>, rotation: Double, Plane)
        /// Whole edges, turned likewise.
        case rectangle(center: SIMD3<Double>, size: SIMD2<Double>, rotation: Double, Plane)
        /// The points inside by the even-odd rule, after projection into the plane.
        case polygon([SIMD3<Double>], Plane)
        case sphere(center: SIMD3<Double>, radius: Double)
        /// Between two corners, along the axes of ``space``.
        case box(lower: SIMD3<Double>, upper: SIMD3<Double>)

        /// The word for it in files.
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

    public var name: String
    public var space: Space
    public var shape: Shape
    public var histogram: HistogramRule

    public init(name: String, space: Space, shape: Shape, histogram: HistogramRule = .standard) {
        self.name = name
        self.space = space
        self.shape = shape
        self.histogram = histogram
    }
}
