/// How the texture matrices of slices and directions become one value (reference manual, sections 3.6 to 3.11).
public enum Aggregation: String, Hashable, Sendable, Codable, CaseIterable {
    /// A value for each slice and direction, averaged.
    case slicesAveraged = "2D-averaged"
    /// The directions of a slice merged to one matrix, the values of slices averaged.
    case slicesMerged = "2D-merged"
    /// The slices of a direction merged to one matrix, the values of directions averaged.
    case stackAveraged = "2.5D-averaged"
    /// All slices and directions merged to one matrix.
    case stackMerged = "2.5D-merged"
    /// A value for each direction in space, averaged.
    case volumeAveraged = "3D-averaged"
    /// All directions in space merged to one matrix.
    case volumeMerged = "3D-merged"

    /// How many of the slices and neighbours one matrix covers. It is all that a matrix without directions can differ in.
    enum Extent: String, Hashable, Sendable, CaseIterable {
        case slices = "2D"
        case stack = "2_5D"
        case volume = "3D"

        /// The identifier in the reference manual, of matrices without directions.
        var code: String {
            switch self {
            case .slices: "8QNN"
            case .stack: "62GR"
            case .volume: "KOBO"
            }
        }
    }

    var extent: Extent {
        switch self {
        case .slicesAveraged, .slicesMerged: .slices
        case .stackAveraged, .stackMerged: .stack
        case .volumeAveraged, .volumeMerged: .volume
        }
    }

    /// The end of the names of features of matrices with directions.
    var suffix: String {
        switch self {
        case .slicesAveraged, .stackAveraged, .volumeAveraged: "\(extent.rawValue)_avg"
        case .slicesMerged, .stackMerged, .volumeMerged: "\(extent.rawValue)_comb"
        }
    }

    /// The identifier in the reference manual, of matrices with directions.
    var code: String {
        switch self {
        case .slicesAveraged: "BTW3"
        case .slicesMerged: "SUJT"
        case .stackAveraged: "JJUI"
        case .stackMerged: "ZW7Z"
        case .volumeAveraged: "ITBB"
        case .volumeMerged: "IAZD"
        }
    }
}
