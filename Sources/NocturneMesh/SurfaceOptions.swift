/// How a surface is made from voxels.
public struct SurfaceOptions: Hashable, Sendable, Codable {
    /// Rounds of Taubin smoothing on a grid with equal spacings, each one step in and one step out. 0 smooths nothing.
    ///
    /// Thick slices make wider steps, so as many times more rounds are made as the largest spacing is larger than the
    /// smallest, three times more at most.
    public var smoothingRounds: Int
    /// The step towards the mean of the neighbours, between 0 and 1.
    public var lambda: Double
    /// The step away from it: negative, and a little longer than `lambda`.
    public var mu: Double
    /// Whether every closed shell is given exactly the volume of the voxels in it.
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
