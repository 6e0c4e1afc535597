/// Which of the 26 voxels around a voxel count as its neighbours.
public enum Connectivity: Int, Sendable, Codable, CaseIterable {
    /// The 6 that share a face.
    case faces = 6
    /// The 18 that share a face or an edge.
    case edges = 18
    /// All 26: a face, an edge or a corner.
    case corners = 26

    /// The gap in voxels along i across which two runs still touch, for rows one step apart along j or k.
    var reachInNextRow: Int { self == .faces ? 0 : 1 }

    /// The same for rows one step apart along both j and k; nil when such rows never touch.
    var reachInDiagonalRow: Int? {
        switch self {
        case .faces: nil
        case .edges: 0
        case .corners: 1
        }
    }
}
