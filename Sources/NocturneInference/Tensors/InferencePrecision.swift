/// The precision of the arithmetic.
public enum InferencePrecision: String, Codable, Sendable, CaseIterable {
    /// float32 multiply-adds in a fixed order.
    case exact
    /// float32 precision: relative error of a layer at most 3e-6.
    case float32
    /// bfloat16 products, float32 sums.
    case bfloat16
}
