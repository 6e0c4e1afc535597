/// What is done to the image and the mask before features are computed, and how they are computed.
///
/// Names and steps are those of the reference manual (section 2). Every value is written to results, so that a table of
/// features states how it was made.
public struct RadiomicsSettings: Hashable, Sendable, Codable {
    /// Section 2.4.
    public var interpolation = Interpolation()
    /// Section 2.5.
    public var resegmentation = Resegmentation()
    /// Section 2.7, for the intensity histogram and the texture matrices.
    public var discretisation = Discretisation()
    /// Section 2.7, for the intensity-volume histogram.
    public var volumeHistogramDiscretisation = Discretisation(method: .identity)
    /// Of the texture matrices.
    public var texture = Texture()
    /// The families of features, in the order of the manual.
    public var families = Family.allCases

    /// Voxels as they are, 32 bins, all features.
    public init() {}

    /// A family of features (section 3).
    public enum Family: String, Hashable, Sendable, CaseIterable, Codable {
        /// Shapes, which need no intensities.
        case morphology = "morphology"
        /// The features of the manual's morphology that need intensities.
        case spatialDistribution = "spatial-distribution"
        case localIntensity = "local-intensity"
        case statistics = "statistics"
        case intensityHistogram = "intensity-histogram"
        case volumeHistogram = "intensity-volume-histogram"
        case glcm, glrlm, glszm, gldzm, ngtdm, ngldm
    }

    /// The new grid and how values on it are found.
    public struct Interpolation: Hashable, Sendable, Codable {
        /// The distance in mm between voxels along i, j and k; nil keeps the grid. A component of 0 keeps that axis.
        public var spacing: SIMD3<Double>?
        /// How intensities are interpolated.
        public var image = Kernel.linear
        /// How the mask is interpolated.
        public var mask = MaskKernel.linear
        /// The least share of a voxel in the region that makes it a voxel of the region.
        public var partialVolume = 0.5
        /// Whether intensities are rounded to integers afterwards, as those of CT should be.
        public var roundsIntensities = false

        /// As the grid is.
        public init() {}

        enum CodingKeys: String, CodingKey {
            case spacing = "spacingMm"
            case image, mask, partialVolume, roundsIntensities
        }
    }

    /// How intensities between voxels are found.
    public enum Kernel: String, Hashable, Sendable, CaseIterable, Codable {
        case nearest, linear
        /// Cubic B-spline through the voxels.
        case cubic
    }

    /// How the mask between voxels is found.
    public enum MaskKernel: String, Hashable, Sendable, CaseIterable, Codable {
        case nearest, linear
    }

    /// Which voxels of the region leave the intensity mask. The morphological mask keeps them.
    public struct Resegmentation: Hashable, Sendable, Codable {
        /// The least intensity that stays.
        public var lower: Double?
        /// The greatest intensity that stays.
        public var upper: Double?
        /// The most standard deviations from the mean of the region.
        public var outlierSigmas: Double?

        /// Keeps all voxels by default.
        public init(lower: Double? = nil, upper: Double? = nil, outlierSigmas: Double? = nil) {
            self.lower = lower
            self.upper = upper
            self.outlierSigmas = outlierSigmas
        }
    }

    /// How intensities become grey levels.
    public struct Discretisation: Hashable, Sendable, Codable {
        /// What bins are.
        public enum Method: String, Hashable, Sendable, CaseIterable, Codable {
            /// Levels are the intensities themselves; for textures they must be integers.
            case identity = "none"
            /// Bins of a fixed width.
            case fixedBinSize = "fixed-bin-size"
            /// A fixed number of bins between the least and the greatest intensity of the region.
            case fixedBinNumber = "fixed-bin-number"
        }

        /// Where the first bin of a fixed width begins.
        public enum Origin: String, Hashable, Sendable, CaseIterable, Codable {
            /// At the lower bound of re-segmentation; without one, at the least intensity of the region.
            case range
            /// At the greatest multiple of the width that is not above the least intensity, as in pyradiomics.
            case multiple
        }

        /// What bins are.
        public var method: Method
        /// In the unit of the intensities.
        public var binWidth: Double
        /// Of a fixed number of bins.
        public var binCount: Int
        /// Of bins of a fixed width.
        public var origin: Origin

        /// By default 32 bins.
        public init(
            method: Method = .fixedBinNumber,
            binWidth: Double = 25,
            binCount: Int = 32,
            origin: Origin = .range
        ) {
            self.method = method
            self.binWidth = binWidth
            self.binCount = binCount
            self.origin = origin
        }
    }

    /// Which neighbours the texture matrices compare, and how matrices are put together.
    public struct Texture: Hashable, Sendable, Codable {
        /// Of the matrices of slices and directions.
        public var aggregations: [Aggregation] = [.volumeAveraged, .volumeMerged]
        /// The Chebyshev distance of the pairs of the GLCM, in voxels.
        public var cooccurrenceDistance = 1
        /// How much the pairs of a direction of the GLCM count when matrices are merged.
        public var cooccurrenceWeighting = Weighting.equal
        /// The largest Chebyshev distance of neighbours in the NGTDM and the NGLDM, in voxels.
        public var neighbourDistance = 1
        /// The largest difference of dependent grey levels in the NGLDM.
        public var coarseness = 0
    }

    /// The weight exp(−d²) of a direction, with its distance d in mm by a norm, as in pyradiomics.
    public enum Weighting: String, Hashable, Sendable, CaseIterable, Codable {
        case equal = "none"
        case manhattan, euclidean, chebyshev
    }

    /// The largest distances that the texture matrices allow, in voxels.
    static let largestDistance = 8

    /// The extents of matrices without directions, in the order of the manual.
    var extents: [Aggregation.Extent] {
        Aggregation.Extent.allCases.filter { extent in texture.aggregations.contains { $0.extent == extent } }
    }
}
