/// On how many voxels of each label several passes over the same tile agree: networks of a package, and mirrored passes.
///
/// Counts are kept for each row of tiles, and a row that begins again replaces the earlier one: inference that is resumed may
/// repeat rows. Voxels in several tiles count in each of them.
public struct AgreementTally: Hashable, Sendable, Codable {
    /// Of one label.
    public struct Counts: Hashable, Sendable, Codable {
        /// Voxels that all passes give this label.
        public var agreeing: Int
        /// Voxels that the mean of the passes gives this label.
        public var all: Int

        /// Both at least 0.
        public init(agreeing: Int, all: Int) {
            self.agreeing = agreeing
            self.all = all
        }

        /// Reads two numbers, as written below.
        /// - Throws: `DecodingError` unless 0 ≤ agreeing ≤ all: checkpoints are read back after a crash.
        public init(from decoder: any Decoder) throws {
            let numbers = try decoder.singleValueContainer().decode([Int].self)
            guard numbers.count == 2, numbers[0] >= 0, numbers[0] <= numbers[1], numbers[1] < 1 << 60 else {
                let context = DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not two counts")
                throw DecodingError.dataCorrupted(context)
            }
            self.init(agreeing: numbers[0], all: numbers[1])
        }

        /// Writes two numbers instead of an object: a checkpoint has one pair for each label and row of tiles.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode([agreeing, all])
        }

        fileprivate static func + (one: Counts, other: Counts) -> Counts {
            Counts(agreeing: one.agreeing + other.agreeing, all: one.all + other.all)
        }
    }

    /// By row and label.
    private var rows: [Int: [Int: Counts]] = [:]

    /// A tally of nothing.
    public init() {}

    /// Begins a row, or begins it again.
    public mutating func begin(row: Int) { rows[row] = [:] }

    /// Adds a tile of a row.
    public mutating func add(_ counts: [UInt16: Counts], row: Int) {
        let own = Dictionary(uniqueKeysWithValues: counts.map { (Int($0), $1) })
        rows[row, default: [:]].merge(own, uniquingKeysWith: +)
    }

    /// The share of each label's voxels on which all passes agree, over several tallies; labels without voxels are left out.
    public static func shares(_ tallies: [AgreementTally]) -> [UInt16: Double] {
        var sums: [Int: Counts] = [:]
        for row in tallies.flatMap(\.rows.values) { sums.merge(row, uniquingKeysWith: +) }
        return Dictionary(
            uniqueKeysWithValues: sums.compactMap { label, counts in
                counts.all > 0 ? (UInt16(label), Double(counts.agreeing) / Double(counts.all)) : nil
            }
        )
    }
}
