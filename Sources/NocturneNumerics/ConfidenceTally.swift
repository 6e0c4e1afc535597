/// How confident networks are in a label, from their probabilities.
public struct LabelConfidence: Hashable, Sendable, Codable {
    /// The mean probability of the label over its voxels, 0 to 1.
    public var meanProbability: Double
    /// The share of the label's boundary where its probability is below ``ConfidenceTally/uncertain``, 0 to 1. The boundary
    /// is the voxels with a neighbour of another label in the same plane; nil without any.
    public var uncertainBoundaryShare: Double?
    /// The share of the label's voxels on which several networks and mirrored passes agree, 0 to 1; nil for a single pass.
    public var passAgreement: Double?

    /// The values are not checked.
    public init(meanProbability: Double, uncertainBoundaryShare: Double?, passAgreement: Double? = nil) {
        self.meanProbability = meanProbability
        self.uncertainBoundaryShare = uncertainBoundaryShare
        self.passAgreement = passAgreement
    }

    /// Rounded to millionths, as results state it.
    public var inMillionths: LabelConfidence {
        func rounded(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
        return LabelConfidence(
            meanProbability: rounded(meanProbability),
            uncertainBoundaryShare: uncertainBoundaryShare.map(rounded),
            passAgreement: passAgreement.map(rounded)
        )
    }
}

/// Adds up the probabilities of labels, plane by plane, for ``LabelConfidence``.
///
/// Sums are whole numbers, so that neither the order of planes nor the number of threads changes them. They are kept for
/// each plane, and a plane that is added again replaces the earlier one: inference that is resumed may repeat planes.
/// Memory: about 150 bytes for each plane and label in it.
public struct ConfidenceTally: Hashable, Sendable, Codable {
    /// The probability below which a voxel of the boundary is uncertain.
    public static let uncertain: Float = 0.75
    // 20 bits: sums of a plane stay exact in Int, and float32 has four bits more.
    private static let unit = Float(1 << 20)

    /// Of one label in one plane, stored as a list of four numbers.
    private struct Sums: Hashable, Sendable, Codable {
        var count = 0
        /// In units of 2⁻²⁰.
        var probability = 0
        var boundary = 0
        var uncertainBoundary = 0

        init() {}

        init(from decoder: any Decoder) throws {
            let numbers = try decoder.singleValueContainer().decode([Int].self)
            guard numbers.count == 4, numbers.allSatisfy({ $0 >= 0 && $0 < 1 << 60 }) else {
                let context = DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not four sums")
                throw DecodingError.dataCorrupted(context)
            }
            (count, probability, boundary, uncertainBoundary) = (numbers[0], numbers[1], numbers[2], numbers[3])
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode([count, probability, boundary, uncertainBoundary])
        }

        mutating func add(_ other: Sums) {
            count += other.count
            probability += other.probability
            boundary += other.boundary
            uncertainBoundary += other.uncertainBoundary
        }
    }

    /// By plane and label.
    private var planes: [Int: [Int: Sums]] = [:]

    /// A tally of nothing.
    public init() {}

    /// Adds a plane, or replaces it.
    /// - Parameters:
    ///   - labels: row by row; 0 is not counted.
    ///   - probabilities: of these labels, 0 to 1.
    public mutating func add(plane: Int, width: Int, labels: [UInt16], probabilities: [Float]) {
        precondition(labels.count == probabilities.count && width > 0 && labels.count % width == 0, "whole rows")
        var found: [Int: Sums] = [:]
        labels.withUnsafeBufferPointer { labels in
            probabilities.withUnsafeBufferPointer { probabilities in
                // Labels come in runs: the sums of a run are kept outside of the dictionary, which is asked once for a run.
                var (current, sums): (UInt16, Sums) = (0, Sums())
                for place in labels.indices where labels[place] != 0 {
                    if labels[place] != current {
                        if current != 0 { found[Int(current), default: Sums()].add(sums) }
                        (current, sums) = (labels[place], Sums())
                    }
                    sums.count += 1
                    sums.probability += Int(probabilities[place] * Self.unit)
                    if Self.isBoundary(labels, place, width) {
                        sums.boundary += 1
                        if probabilities[place] < Self.uncertain { sums.uncertainBoundary += 1 }
                    }
                }
                if current != 0 { found[Int(current), default: Sums()].add(sums) }
            }
        }
        planes[plane] = found
    }

    private static func isBoundary(_ labels: UnsafeBufferPointer<UInt16>, _ place: Int, _ width: Int) -> Bool {
        let (label, x) = (labels[place], place % width)
        // Four neighbours within the plane. The border of the plane does not count.
        return (x > 0 && labels[place - 1] != label) || (x < width - 1 && labels[place + 1] != label)
            || (place >= width && labels[place - width] != label)
            || (place + width < labels.count && labels[place + width] != label)
    }

    /// The figures of every label that has a voxel.
    /// - Parameter tallies: of the passes of each network or ensemble member.
    public func confidence(agreement tallies: [AgreementTally]) -> [UInt16: LabelConfidence] {
        let agreement = AgreementTally.shares(tallies)
        var sums: [Int: Sums] = [:]
        for plane in planes.values {
            for (label, added) in plane { sums[label, default: Sums()].add(added) }
        }
        return Dictionary(
            uniqueKeysWithValues: sums.map { label, sums in
                let mean = Double(sums.probability) / Double(Self.unit) / Double(sums.count)
                let share = sums.boundary > 0 ? Double(sums.uncertainBoundary) / Double(sums.boundary) : nil
                let found = LabelConfidence(
                    meanProbability: mean,
                    uncertainBoundaryShare: share,
                    passAgreement: agreement[UInt16(label)]
                )
                return (UInt16(label), found)
            }
        )
    }
}
