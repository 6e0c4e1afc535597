/// Options for extracting a surface from voxels.
public struct SurfaceOptions: Hashable, Sendable, Codable {
    /// Rounds of Taubin smoothing on a grid with equal spacings, each with one shrinking and one expanding step. 0
    /// disables smoothing.
    ///
    /// Thick slices make larger steps, so the number of rounds is multiplied by the ratio of the largest to the
    /// smallest spacing, by at most three.
    public var smoothingRounds: Int
    /// The size of the step towards the mean of the neighbours, between 0 and 1.
    public var lambda: Double
    /// The size of the step away from it: negative, with a slightly larger magnitude than `lambda`.
    public var mu: Double
    /// Whether every closed shell is corrected to exactly the volume of its voxels.
    public var restoresVolume: Bool

    public init(
        smoothingRounds: Int = 20,
        lambda: Double = 0.6,
        mu: Double = -0.62,
        restoresVolume: Bool = true
    ) {
        self.smoothingRounds = smoothingRounds
        self.lambda = lambda
        self.mu = mu
        self.restoresVolume = restoresVolume
    }

    /// The rounds for a grid with these distances between neighbours.
    func rounds(for spacing: SIMD3<Double>) -> Int {
        let ratio = spacing.max() / spacing.min()
        guard smoothingRounds > 0 else { return 0 }
        return Int((Double(smoothingRounds) * (ratio.isFinite ? min(max(ratio, 1), 3) : 1)).rounded())
    }
}
