/// What a network says of every pixel of a picture: rows from the top, x fastest, values meant to lie in 0...1 (those
/// outside are taken as the nearer bound).
public struct InstanceMaps: Sendable {
    public let width: Int
    public let height: Int
    /// How likely the pixel belongs to some instance.
    public let foreground: [Float]
    /// How likely it lies at the edge of one.
    public let boundary: [Float]
    /// How deep inside its instance it lies; nil where the network has no such map.
    public let centre: [Float]?

    /// - Throws: ``InstanceError`` when a map has not one value a pixel, there are no pixels or more than 2^26, or a value
    ///   is no number (NaN or infinite).
    public init(
        width: Int,
        height: Int,
        foreground: [Float],
        boundary: [Float],
        centre: [Float]?
    ) throws(InstanceError) {
        guard width > 0, height > 0, width <= 1 << 26, height <= (1 << 26) / width else {
            throw InstanceError(.wrongSize, "maps of \(width)×\(height) pixels cannot be taken apart")
        }
        for (name, map) in [("foreground", foreground), ("boundary", boundary), ("centre", centre ?? foreground)] {
            guard map.count == width * height else {
                throw InstanceError(
                    .wrongSize,
                    "the \(name) map has \(map.count) values for \(width)×\(height) pixels"
                )
            }
            guard map.allSatisfy(\.isFinite) else {
                throw InstanceError(.notANumber, "the \(name) map holds values that are not numbers (NaN or infinite)")
            }
        }
        self.width = width
        self.height = height
        self.foreground = foreground
        self.boundary = boundary
        self.centre = centre
    }
}

/// Why something cannot be taken apart into instances.
public struct InstanceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault. More may come.
    public enum Code: String, Hashable, Sendable {
        case wrongSize
        /// NaN or infinity.
        case notANumber
        /// A run-length encoding that no mask has.
        case wrongEncoding
    }

    public let code: Code
    public let description: String

    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}

/// Instances of a picture that do not overlap: 0 is none, instances count from 1.
public struct InstanceLabels: Sendable {
    public let width: Int
    public let height: Int
    /// Rows from the top, x fastest.
    public let labels: [UInt16]
    /// For every instance, the mean of the foreground map inside it.
    public let confidences: [Float]
    /// Instances that were found but are more than were asked for: the smallest.
    public let dropped: Int

    public var count: Int { confidences.count }

    public init(width: Int, height: Int, labels: [UInt16], confidences: [Float], dropped: Int = 0) {
        precondition(labels.count == width * height, "one label a pixel")
        self.width = width
        self.height = height
        self.labels = labels
        self.confidences = confidences
        self.dropped = dropped
    }
}

/// How maps are taken apart. Areas and lengths are pixels of the maps.
public struct SplittingRules: Hashable, Sendable {
    /// From where the foreground map counts, 0...1.
    public var foregroundThreshold: Float
    /// Below it the foreground map shows what is surely background: that floods too, so that an instance ends where the
    /// boundary map says, however ragged the foreground is. At most ``foregroundThreshold``; 0 for none, and then the
    /// foreground map alone bounds the instances.
    public var backgroundThreshold: Float
    /// From where the centre map makes a seed, 0...1; without such a map, foreground less boundary.
    public var seedThreshold: Float
    /// How much the boundary map raises the landscape beside the centre map's 1.
    public var boundaryWeight: Float
    /// Smaller seeds are none.
    public var minimumSeedArea: Int
    /// Smaller instances are none.
    public var minimumArea: Int
    /// Neighbours whose contact has a mean boundary below this are one instance, 0...1; 0 joins none.
    public var mergeBoundary: Float
    /// Neighbours with fewer contacts (pairs of pixels) are never joined.
    public var minimumContact: Int
    /// The largest this many are kept, 1...65535.
    public var maximumInstances: Int

    public init(
        foregroundThreshold: Float = 0.5,
        backgroundThreshold: Float = 0,
        seedThreshold: Float = 0.5,
        boundaryWeight: Float = 1,
        minimumSeedArea: Int = 4,
        minimumArea: Int = 16,
        mergeBoundary: Float = 0.2,
        minimumContact: Int = 4,
        maximumInstances: Int = 200
    ) {
        self.foregroundThreshold = foregroundThreshold
        self.backgroundThreshold = backgroundThreshold
        self.seedThreshold = seedThreshold
        self.boundaryWeight = boundaryWeight
        self.minimumSeedArea = minimumSeedArea
        self.minimumArea = minimumArea
        self.mergeBoundary = mergeBoundary
        self.minimumContact = minimumContact
        self.maximumInstances = maximumInstances
    }
}
