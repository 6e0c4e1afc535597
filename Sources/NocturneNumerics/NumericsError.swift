/// Why values could not be moved to another grid.
public enum NumericsError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A shape, spacing or box that describes no voxels, or not the voxels given.
    case shape(String)
    /// A buffer holds another number of values than its shape says.
    case count(String, expected: Int, found: Int)
    /// Numbers that are not finite, or not positive where they must be.
    case value(String)

    public var description: String {
        switch self {
        case .shape(let fact): fact
        case .count(let what, let expected, let found): "\(what): \(found) values where \(expected) are needed"
        case .value(let fact): fact
        }
    }
}
