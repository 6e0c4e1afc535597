public import NocturneCore

/// Sizes or indices in the networks' axis order: z outermost, x fastest; ``VolumeShape`` has the reverse order.
public struct GridZYX: Hashable, Sendable, Codable, CustomStringConvertible {
    /// Slowest axis.
    public var z: Int
    /// Middle axis.
    public var y: Int
    /// Fastest axis.
    public var x: Int

    /// In the order of the networks.
    public init(_ z: Int, _ y: Int, _ x: Int) {
        self.z = z
        self.y = y
        self.x = x
    }

    /// The same extents in the other order.
    public init(_ shape: VolumeShape) { self.init(shape.z, shape.y, shape.x) }

    /// The product of the extents.
    public var count: Int { z * y * x }

    /// 0 = z, 1 = y, 2 = x, as networks number their spatial axes.
    public subscript(axis: Int) -> Int {
        get { axis == 0 ? z : axis == 1 ? y : x }
        set {
            switch axis {
            case 0: z = newValue
            case 1: y = newValue
            default: x = newValue
            }
        }
    }

    /// `z×y×x`
    public var description: String { "\(z)×\(y)×\(x)" }
}
