public import NocturneSystem

/// Why values could not be resampled to another grid.
public enum NumericsError: CodedError, Hashable, Sendable, CustomStringConvertible {
    /// A shape, spacing or box that contains no voxels, or does not match the given voxels.
    case shape(String)
    /// A buffer holds a different number of values than its shape requires.
    case count(String, expected: Int, found: Int)
    /// Numbers that are not finite, or not positive where they must be.
    case value(String)

    /// The volume cannot be brought to the voxel spacing of the network.
    public var faultCode: FaultCode { FaultCode("volume", "notResampled") }

    /// The fact, without advice.
    public var description: String {
        switch self {
        case .shape(let fact): fact
        case .count(let what, let expected, let found): "\(what): \(found) values where \(expected) are needed"
        case .value(let fact): fact
        }
    }
}
