/// The output of a network for every pixel of a picture: rows from the top, x fastest, values expected in 0...1 (values
/// outside are clamped).
public struct InstanceMaps: Sendable {
    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int
    /// The probability that the pixel belongs to an instance.
    public let foreground: [Float]
    /// The probability that the pixel is at the edge of an instance.
    public let boundary: [Float]
    /// The depth of the pixel inside its instance; nil if the network has no such map.
    public let centre: [Float]?

    /// - Throws: ``NetworkOutputError`` when a map has not exactly one value per pixel, there are no pixels or more than
    ///   2^26, or a value is NaN or infinite.
    public init(
        width: Int,
        height: Int,
        foreground: [Float],
        boundary: [Float],
        centre: [Float]?
    ) throws(NetworkOutputError) {
        guard width > 0, height > 0, width <= 1 << 26, height <= (1 << 26) / width else {
            throw NetworkOutputError(detail: "maps of \(width)×\(height) pixels cannot be split into instances")
        }
        for (name, map) in [("foreground", foreground), ("boundary", boundary), ("centre", centre ?? foreground)] {
            guard map.count == width * height else {
                throw NetworkOutputError(
                    detail: "the \(name) map has \(map.count) values for \(width)×\(height) pixels"
                )
            }
            guard map.allSatisfy(\.isFinite) else {
                throw NetworkOutputError(detail: "the \(name) map holds values that are not numbers (NaN or infinite)")
            }
        }
        self.width = width
        self.height = height
        self.foreground = foreground
        self.boundary = boundary
        self.centre = centre
    }
}

extension InstanceSplitter {
    /// Instances of a picture that do not overlap: 0 is background, instances count from 1.
    public struct Labels: Sendable {
        /// In pixels.
        public let width: Int
        /// In pixels.
        public let height: Int
        /// Rows from the top, x fastest.
        public let labels: [UInt16]
        /// For every instance, the mean of the foreground map inside it.
        public let confidences: [Float]
        /// The number of instances found beyond the requested maximum; the smallest ones were dropped.
        public var dropped = 0
        /// Instances that were too small compared with the others, by ``InstanceSplitter/Rules/minimumAreaShareOfMedian``.
        public var slivers = Slivers()
        /// Instances that were not kept, by ``InstanceSplitter/Rules/minimumClearShare``.
        public var refusal: Refusal?

        /// The number of instances.
        public var count: Int { confidences.count }

        /// - Parameters:
        ///   - labels: `width` × `height` of them, 0 or the number of an instance.
        ///   - confidences: one for each instance, from the first.
        public init(
            width: Int,
            height: Int,
            labels: [UInt16],
            confidences: [Float]
        ) {
            precondition(labels.count == width * height, "one label a pixel")
            self.width = width
            self.height = height
            self.labels = labels
            self.confidences = confidences
        }
    }
}

extension InstanceSplitter.Labels {
    /// Without instances.
    static func none(width: Int, height: Int, _ refusal: Refusal? = nil) -> InstanceSplitter.Labels {
        let labels = [UInt16](repeating: 0, count: width * height)
        var none = InstanceSplitter.Labels(width: width, height: height, labels: labels, confidences: [])
        none.refusal = refusal
        return none
    }

    /// Why none of a picture's instances is kept: too few of them have clear outlines, as those of the objects that the network knows.
    public struct Refusal: Hashable, Sendable {
        /// How many instances there were.
        public let count: Int
        /// The share of their area that is in instances with clear outlines, below ``InstanceSplitter/Rules/minimumClearShare``.
        public let clearShare: Float
        /// What was demanded.
        public let leastShare: Float
    }

    /// The instances of a picture that were too small compared with the others.
    public struct Slivers: Hashable, Sendable {
        /// Those that became part of a neighbour.
        public var merged = 0
        /// Those without a neighbour, which became background.
        public var dropped = 0

        /// None.
        public init() {}
    }
}

extension InstanceSplitter {
    /// How maps are split into instances. Areas and lengths are in pixels of the maps.
    public struct Rules: Hashable, Sendable {
        /// Threshold of the foreground map, 0...1.
        public var foregroundThreshold: Float = 0.5
        /// Pixels whose foreground value is below this are certain background and flood as well, so that an instance ends
        /// where the boundary map indicates, even if the foreground is irregular. At most ``foregroundThreshold``; 0
        /// disables it, and then only the foreground map bounds the instances.
        public var backgroundThreshold: Float = 0
        /// Threshold of the centre map for a seed, 0...1; without such a map, of foreground minus boundary.
        public var seedThreshold: Float = 0.5
        /// The weight of the boundary map in the flooding heights, relative to 1 for the centre map.
        public var boundaryWeight: Float = 1
        /// Smaller seeds are ignored.
        public var minimumSeedArea = 4
        /// Smaller instances are discarded.
        public var minimumArea = 16
        /// Neighbours whose contact has a mean boundary value below this are merged, 0...1; 0 merges none.
        public var mergeBoundary: Float = 0.2
        /// Neighbours with fewer contacts (pairs of pixels) are never merged.
        public var minimumContact = 4
        /// Instances smaller than this share of the median area of all instances of the picture become part of the
        /// neighbour with the longest border, or background without a neighbour, 0...1; 0 keeps all.
        public var minimumAreaShareOfMedian: Float = 0
        /// A picture in which less of the instances' area is in instances with clear outlines has none, 0...1; 0 keeps all. An outline is
        /// clear where the share of the smallest rectangle around an instance that it fills, times the mean of the boundary map along its
        /// outline, is at least 0.7.
        public var minimumClearShare: Float = 0
        /// The maximum number of instances, 1...65535; the largest are kept.
        public var maximumInstances: Int

        /// By default without merging slivers, and without a demand for clear outlines.
        public init(maximumInstances: Int = 200) { self.maximumInstances = maximumInstances }
    }
}
